"""Many sessions of one program, played in few messages, with what came of each."""

from collections.abc import Iterator, Sequence
from itertools import islice

from envmill.gates.exploring.memory import RecentCache
from envmill.sandbox import Observation, Program, Sandbox, Step
from schemas.environment import Environment

_FIRST, _LATER = 3, 96
"""Sessions in the first message and in those after it: when a jail has seen a program start a few
times, it may start it over in place, which costs a tenth of a process of its own; it finds that out
between messages."""

_AGAIN = 3
"""Further messages for sessions that the time of the first did not reach."""
PLAN_OVER = "plan_over"
"""Code of a step for which a message's time was over."""

_programs: RecentCache[Program] = RecentCache()


def find_program(environment: Environment) -> Program:
    """One for all gates of an environment: how it travels is computed once."""
    return _programs.find(environment.id) or _programs.keep(environment.id, Program.of(environment))


async def play_plans(
    program: Program, plans: Sequence[Sequence[Step]], sandbox: Sandbox, *, in_place: bool = False
) -> list[list[Observation]]:
    """Observations per plan; each plan begins with a reset. `in_place` is for those who look
    around, as in `Sandbox.play`."""
    return [
        seen
        for batch in _cut(plans)
        for seen in await _play(program, batch, sandbox, _AGAIN, in_place)
    ]


async def _play(
    program: Program, plans: Sequence[Sequence[Step]], sandbox: Sandbox, again: int, in_place: bool
) -> list[list[Observation]]:
    """In one message. What its time did not reach is played in another one: a call that never ends
    is not held against those behind it."""
    seen = iter(
        await sandbox.play(program, [step for plan in plans for step in plan], in_place=in_place)
    )
    played = [list(islice(seen, len(plan))) for plan in plans]
    late = [
        place
        for place, one in enumerate(played)
        if any((step.outcome, step.code) == ("failure", PLAN_OVER) for step in one)
    ]
    # A program that does not even start is asked no more.
    if late and again and any(one[0].outcome == "ok" for one in played):
        rest = await _play(program, [plans[place] for place in late], sandbox, again - 1, in_place)
        for place, one in zip(late, rest, strict=True):
            played[place] = one
    return played


def _cut(plans: Sequence[Sequence[Step]]) -> Iterator[Sequence[Sequence[Step]]]:
    if plans:
        yield plans[:_FIRST]
    yield from (plans[at : at + _LATER] for at in range(_FIRST, len(plans), _LATER))
