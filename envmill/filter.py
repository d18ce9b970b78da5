"""Filter: what verified well may still be a repeat, or unsolvable for the policy it is meant for."""

from collections.abc import Sequence

from envmill.agents import find_policy
from envmill.agents.rollout import play_scenario
from envmill.gates.base import Means, Posed
from envmill.gates.f1 import require_solved
from envmill.gates.f5 import require_variance
from envmill.gates.s13 import replay_library
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from schemas.base import canonical_json
from schemas.environment import Call
from schemas.ledger import Attack
from schemas.scenario import Scenario


async def filter_environment(subject: Subject[Tested], mill: Mill, account: Account) -> Result:  # noqa: ARG001
    """Nothing beyond the decision over the whole set, which is made before any subject is worked on."""
    return Result()


async def filter_scenario(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:  # noqa: ARG001  no model is asked
    """Probe rollouts by the named policy; all of them are kept as records."""
    scenario, environment = subject.record.record, subject.record.environment
    posed = Posed(scenario, environment, library=list_library(scenario, subject.record.attacks))
    replayed = await replay_library(posed, Means(mill.sandbox, seed=mill.config.seed or 0))
    if replayed.outcome == "dropped":
        return Result(findings=(replayed,))
    policy = find_policy(mill.config.probe)
    probes = [await play_scenario(policy, scenario, environment, mill.sandbox, "probe", attempt) for attempt in range(mill.config.attempts)]
    return Result(tuple(probes), (replayed, require_solved(probes), require_variance(probes, scripted=True)))


def list_library(scenario: Scenario, attacks: Sequence[Attack]) -> tuple[tuple[Call, ...], ...]:
    """Attacks of its siblings, each once."""
    return tuple(
        {
            canonical_json([call.model_dump() for call in one.calls]): tuple(one.calls)
            for one in attacks
            if one.calls and one.scenario != scenario.id
        }.values()
    )
