"""A stored rollout played again in a fresh session, under its clock, seed and weather: identical,
or the first difference."""

from collections.abc import Sequence
from dataclasses import replace

from envmill.agents.log import StoredCall, StoredWait, describe_reply, read_moves
from envmill.kinds.start import start
from envmill.runtime.recorder import Difference, list_differences
from envmill.sandbox import Advance, Invoke, Look, Observation, Program, Sandbox, Step
from schemas.base import Json
from schemas.environment import Environment
from schemas.rollout import Rollout
from schemas.scenario import Scenario


async def replay_rollout(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> Difference | None:
    """The first move whose reply or state differs from the record (step 0 is the start), or
    None."""
    began, *replies, end = await play_again(rollout, scenario, environment, sandbox)
    return compare_moves(rollout, began, replies) or _compare_ends(rollout, end, len(replies) + 1)


async def play_again(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> list[Observation]:
    """The start, every move, and a look at the end, in a process of its own."""
    return await sandbox.play(
        Program.shown(environment), [*plan_moves(rollout, scenario), Look()], fresh=True
    )


def plan_moves(rollout: Rollout, scenario: Scenario) -> list[Step]:
    """The start, under the weather of that time, and every move."""
    steps = [
        Advance(move.seconds) if isinstance(move, StoredWait) else Invoke(move.call)
        for move in read_moves(rollout.transcript)
    ]
    return [replace(start(scenario), weather=rollout.weather), *steps]


def compare_moves(
    rollout: Rollout, began: Observation, replies: Sequence[Observation]
) -> Difference | None:
    """The first move whose reply or state differs from the record, or None."""
    moves = list(read_moves(rollout.transcript))
    if began.outcome != "ok" and moves:
        return Difference(0, ("outcome",), "ok", f"{began.code}: {began.message}")
    for place, (move, reply) in enumerate(zip(moves, replies, strict=True), start=1):
        name = move.call.name if isinstance(move, StoredCall) else "wait"
        for path, before, after in list_differences(_recorded(move), _seen(move, reply)):
            return Difference(place, (name, *path), before, after)
    return None


def _recorded(move: StoredCall | StoredWait) -> Json:
    return {
        "reply": move.content if isinstance(move, StoredCall) else move.notifications,
        "state_hash": move.state_hash,
    }


def _seen(move: StoredCall | StoredWait, reply: Observation) -> Json:
    return {
        "reply": describe_reply(reply) if isinstance(move, StoredCall) else reply.notifications,
        "state_hash": reply.state_hash,
    }


def _compare_ends(rollout: Rollout, end: Observation, place: int) -> Difference | None:
    same = end.state_hash == rollout.final_state_hash
    return (
        None
        if same
        else Difference(place, ("final_state_hash",), rollout.final_state_hash, end.state_hash)
    )
