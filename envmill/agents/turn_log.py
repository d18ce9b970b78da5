"""The turn log of a stored attempt: what each turn of the policy came to, by playing its calls
again in the jail.

transcript ──turns──► calls again in a fresh session, a look after each turn ──► replies and states as recorded?
                                                                           └──► goals and guards after each turn

A machine is not played again: of its attempts only the start and the end are known.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.agents.log import StoredCall, count_said, read_answers, read_moves, read_words
from envmill.agents.replay import compare_moves, plan_moves
from envmill.agents.rescore import read_ending
from envmill.base.errors import BuildError
from envmill.sandbox import Look, Observation, Program, Sandbox, Step
from envmill.verifiers.court import measure
from envmill.verifiers.ending import Ending
from schemas.base import Json
from schemas.environment import Environment
from schemas.rollout import Rollout
from schemas.scenario import Scenario, Verifier


@dataclass(frozen=True)
class LoggedTurn:
    """What one turn of a policy came to. Goals and guards are told by their numbers: what they ask
    for stays with the verifier. Where the state after a turn is not known, its goals and guards are
    None, and the next turn with a known state is compared with the last one before."""

    calls: list[str]
    """Outcome of each call: `ok`, or the code of its refusal."""
    state_hash: str
    """Hash of the state after the turn; empty when it is unknown."""
    goals_met: list[int] | None
    """Goals that hold now and did not before."""
    goals_lost: list[int] | None
    """Goals that held before and do not now."""
    guards_broken: list[int] | None
    """Guards that are broken now and were not before."""
    guards_mended: list[int] | None
    """Guards that were broken before and are not now."""

    def find_gain(self, verifier: Verifier) -> float:
        """Share of the goals gained, less the share of the guards broken.

        The gains of an attempt add up to where it ended, so that going in circles earns nothing."""
        goals = len(self.goals_met or ()) - len(self.goals_lost or ())
        guards = len(self.guards_broken or ()) - len(self.guards_mended or ())
        return goals / max(1, len(verifier.goals)) - guards / max(1, len(verifier.guards))


async def log_turns(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> list[LoggedTurn]:
    """A record per turn of the policy; BuildError where its calls come to something else than was
    recorded."""
    ends = _find_ends(rollout.transcript)
    states = await _play(rollout, scenario, environment, sandbox, ends)
    before = await _measure(sandbox, scenario, [], scenario.initial_state)
    told: list[LoggedTurn] = []
    for begin, end, seen in zip([0, *ends], ends, states, strict=False):
        now = await _measure(sandbox, scenario, rollout.transcript[:end], seen.state)
        calls = list(_list_outcomes(rollout.transcript[begin:end]))
        told.append(_compare(calls, seen.state_hash, before, now))
        before = now
    return told


async def log_machine_turns(
    rollout: Rollout, scenario: Scenario, environment: Environment, sandbox: Sandbox
) -> list[LoggedTurn]:
    """The same from the record alone: a machine is looked at when an attempt ends, so goals and
    guards are told of the last turn, as its whole attempt changed them."""
    if rollout.changes is None:
        raise BuildError("The state at its end is not known.")
    ends = _find_ends(rollout.transcript)
    calls = [
        list(_list_outcomes(rollout.transcript[begin:end]))
        for begin, end in zip([0, *ends], ends, strict=False)
    ]
    if not calls:
        return []
    final = (await read_ending(rollout, scenario, environment, sandbox)).final
    before = await _measure(sandbox, scenario, [], scenario.initial_state)
    now = await _measure(sandbox, scenario, rollout.transcript, final)
    last = _compare(calls[-1], rollout.final_state_hash, before, now)
    return [*(LoggedTurn(made, "", None, None, None, None) for made in calls[:-1]), last]


def _compare(
    calls: list[str], state_hash: str, before: dict[str, set[int]], now: dict[str, set[int]]
) -> LoggedTurn:
    return LoggedTurn(
        calls,
        state_hash,
        goals_met=sorted(now["goals"] - before["goals"]),
        goals_lost=sorted(before["goals"] - now["goals"]),
        guards_broken=sorted(now["guards"] - before["guards"]),
        guards_mended=sorted(before["guards"] - now["guards"]),
    )


def _find_ends(transcript: Sequence[Json]) -> list[int]:
    """Where each turn ends: before the policy's next message. What the user and the clock did
    meanwhile belongs to it."""
    begins = [place for place, entry in enumerate(transcript) if entry["role"] == "assistant"]
    return [*begins[1:], len(transcript)] if begins else []


async def _play(
    rollout: Rollout,
    scenario: Scenario,
    environment: Environment,
    sandbox: Sandbox,
    ends: Sequence[int],
) -> list[Observation]:
    """The state after each turn, in one session."""
    steps = plan_moves(rollout, scenario)
    looks = [sum(1 for _ in read_moves(rollout.transcript[:end])) for end in ends]
    plan: list[Step] = steps[:1]
    for begin, end in zip([0, *looks], looks, strict=False):
        plan += [*steps[1 + begin : 1 + end], Look()]
    seen = await sandbox.play(Program.shown(environment), plan, fresh=True)
    states = [one for step, one in zip(plan, seen, strict=True) if isinstance(step, Look)]
    began, *replies = [
        one for step, one in zip(plan, seen, strict=True) if not isinstance(step, Look)
    ]
    if found := compare_moves(rollout, began, replies):
        raise BuildError(f"Played again it differs: {found}.")
    if any(one.state is None for one in states):
        raise BuildError("Played again, the state after a turn cannot be read.")
    return states


async def _measure(
    sandbox: Sandbox, scenario: Scenario, transcript: Sequence[Json], state: Json
) -> dict[str, set[int]]:
    """As the attempt would be judged if it ended there."""
    deeds = [move.deed for move in read_moves(transcript) if isinstance(move, StoredCall)]
    ended = count_said(transcript, scenario.user.later)
    ending = Ending(
        scenario.initial_state,
        state,
        deeds,
        read_words(transcript),
        ended=ended,
        answers=read_answers(transcript),
    )
    return {
        name: set(found)
        for name, found in (
            await measure(sandbox, scenario.verifier, ending, scenario.clock)
        ).items()
    }


def _list_outcomes(entries: Sequence[Json]) -> Iterator[str]:
    """Of the policy's own calls."""
    replies = {
        entry["tool_call_id"]: entry["content"] for entry in entries if entry["role"] == "tool"
    }
    for entry in entries:
        for call in entry.get("tool_calls", ()) if entry["role"] == "assistant" else ():
            content = replies[call["id"]]
            yield "ok" if content["ok"] else content["error"]["code"]
