"""Filter: what verified well may still be a repeat, or unsolvable for the policy it is meant for."""

from envmill.agents import POLICIES
from envmill.agents.rollout import play_scenario
from envmill.gates.f1 import require_solved
from envmill.mill import Mill, Placed, Result, Subject, Tested
from envmill.models.door import Account
from schemas.scenario import Scenario


async def filter_environment(subject: Subject[Tested], mill: Mill, account: Account) -> Result:  # noqa: ARG001
    """Nothing beyond the decision over the whole set, which is made before any subject is worked on."""
    return Result()


async def filter_scenario(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:  # noqa: ARG001  no model is asked
    """Probe rollouts by the named policy; all of them are kept as records."""
    scenario, environment = subject.record.record, subject.record.environment
    policy = POLICIES[mill.config.probe]
    probes = [await play_scenario(policy, scenario, environment, mill.sandbox, "probe", attempt) for attempt in range(mill.config.attempts)]
    return Result(tuple(probes), (require_solved(probes),))
