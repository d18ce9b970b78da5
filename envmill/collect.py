"""Collect: teacher rollouts, rejection sampling, a cap per scenario, and preferences among attempts that ended otherwise."""

from collections.abc import Sequence

from envmill.agents import find_policy
from envmill.agents.rollout import play_scenario
from envmill.agents.transcript import list_messages, list_tools, tell_deeds, weigh_messages
from envmill.contrast import pair_rollouts
from envmill.gates.base import drop
from envmill.mill import Mill, Placed, Result, Subject
from envmill.models.door import Account
from schemas.base import canonical_json
from schemas.environment import Environment
from schemas.rollout import Rollout, Trajectory
from schemas.scenario import Scenario


async def collect_trajectories(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:  # noqa: ARG001
    """Probes of the same policy are used again; attempts stop once enough distinct passes are there."""
    placed = subject.record
    known = [rollout for rollout in placed.rollouts if rollout.policy == mill.config.teacher]
    made: list[Rollout] = []
    for attempt in range(len(known), mill.config.attempts):
        if len(choose(known + made, mill.config.keep)) >= mill.config.keep:
            break
        teacher = find_policy(mill.config.teacher)
        made.append(await play_scenario(teacher, placed.record, placed.environment, mill.sandbox, "teacher", attempt))
    pairs = pair_rollouts([*placed.rollouts, *made], placed.record, placed.environment, mill.config.pairs)
    chosen = choose(known + made, mill.config.keep)
    if not chosen:
        words = f"none of {len(known + made)} rollouts of the teacher passes"
        return Result((*made, *pairs), (drop("rejection", "no_pass", words),))
    return Result((*made, *(make_trajectory(one, placed.record, placed.environment) for one in chosen), *pairs))


def choose(rollouts: Sequence[Rollout], cap: int) -> list[Rollout]:
    """Passing rollouts, the shortest first, no two that did the same."""
    distinct: dict[str, Rollout] = {}
    for rollout in sorted(rollouts, key=lambda one: (one.steps, one.attempt)):
        if rollout.outcome == "pass":
            distinct.setdefault(canonical_json(tell_deeds(rollout)), rollout)
    return list(distinct.values())[:cap]


def make_trajectory(rollout: Rollout, scenario: Scenario, environment: Environment) -> Trajectory:
    """The transcript as chat messages; what the policy said is trained on, what it was told and what it got wrong is not."""
    return Trajectory(
        rollout=rollout.id,
        scenario=rollout.scenario,
        environment=rollout.environment,
        policy=rollout.policy,
        messages=list_messages(rollout),
        tools=list_tools(environment),
        loss=weigh_messages(rollout.transcript),
        state_hashes=[entry["state_hash"] for entry in rollout.transcript if "state_hash" in entry],
        reward=rollout.reward or 0.0,
        licence=environment.licence,
        features=scenario.features,
        split=scenario.split,
    )
