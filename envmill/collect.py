"""Collect: teacher rollouts, rejection sampling, a cap per scenario."""

from collections.abc import Sequence

from envmill.agents import POLICIES
from envmill.agents.rollout import play_scenario
from envmill.gates.base import drop
from envmill.mill import Mill, Placed, Result, Subject
from envmill.models.door import Account
from schemas.base import Json, canonical_json
from schemas.environment import Environment
from schemas.rollout import Rollout, Trajectory
from schemas.scenario import Scenario


async def collect_trajectories(subject: Subject[Placed[Scenario]], mill: Mill, account: Account) -> Result:  # noqa: ARG001
    """Probes of the same policy are used again; attempts stop once enough distinct passes are there."""
    placed = subject.record
    known = [rollout for rollout in placed.rollouts if rollout.policy == mill.config.teacher]
    made: list[Rollout] = []
    for attempt in range(mill.config.attempts - len(known)):
        if len(choose(known + made, mill.config.keep)) >= mill.config.keep:
            break
        made.append(await play_scenario(POLICIES[mill.config.teacher], placed.record, placed.environment, mill.sandbox, "teacher", attempt))
    chosen = choose(known + made, mill.config.keep)
    if not chosen:
        return Result(tuple(made), (drop("rejection", "no_pass", f"none of {len(known + made)} rollouts of the teacher passes"),))
    return Result((*made, *(make_trajectory(rollout, placed.environment) for rollout in chosen)))


def choose(rollouts: Sequence[Rollout], cap: int) -> list[Rollout]:
    """Passing rollouts, the shortest first, no two with the same calls."""
    distinct: dict[str, Rollout] = {}
    for rollout in sorted(rollouts, key=lambda one: (one.steps, one.attempt)):
        if rollout.outcome == "pass":
            distinct.setdefault(canonical_json(rollout.transcript), rollout)
    return list(distinct.values())[:cap]


def make_trajectory(rollout: Rollout, environment: Environment) -> Trajectory:
    """The transcript as chat messages; what the policy said is trained on, what it was told is not."""
    messages = [_as_message(entry) for entry in rollout.transcript]
    return Trajectory(
        rollout=rollout.id,
        scenario=rollout.scenario,
        environment=rollout.environment,
        policy=rollout.policy,
        messages=messages,
        tools=[{"name": t.name, "description": t.description, "parameters": t.parameters} for t in environment.tools],
        loss=[message["role"] == "assistant" for message in messages],
        state_hashes=[entry["state_hash"] for entry in rollout.transcript if "state_hash" in entry],
        reward=rollout.reward or 0.0,
        licence=environment.licence,
    )


def _as_message(entry: Json) -> Json:
    return {key: value for key, value in entry.items() if key != "state_hash"}
