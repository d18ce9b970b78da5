"""Many sessions of one program, played in few messages, with what came of each.

Every search over calls is played here: an exploration, a scenario's attempts and attackers, a search
for rewards, the proof of a composed dialogue. They differ in who proposes the calls.
"""

from collections.abc import Iterator, Sequence
from itertools import islice

from envmill.sandbox.plan import Observation, Program, Step
from envmill.sandbox.sandbox import Hashes, Sandbox

_FIRST, _LATER = 3, 97
"""Sessions in the first message and in those after it: when a jail has seen a program start a few
times, it may start it over in place, which costs a tenth of a process of its own; it finds that out
between messages."""
_STEPS = 1_000
"""Steps of one message of several sessions: a message has a time limit as a whole."""
_AGAIN = 3
"""Further messages for sessions that the time of the first did not reach."""
PLAN_OVER = "plan_over"
"""Code of a step for which a message's time was over."""


async def play_plans(
    program: Program,
    plans: Sequence[Sequence[Step]],
    sandbox: Sandbox,
    *,
    hashes: Hashes = "each",
    in_place: bool = False,
) -> list[list[Observation]]:
    """Observations per plan; each plan begins with a reset. `in_place` and `hashes` are those
    of `Sandbox.play`."""
    return [
        seen
        for batch in _cut(plans)
        for seen in await _play(program, batch, sandbox, _AGAIN, hashes, in_place)
    ]


async def _play(
    program: Program,
    plans: Sequence[Sequence[Step]],
    sandbox: Sandbox,
    again: int,
    hashes: Hashes,
    in_place: bool,
) -> list[list[Observation]]:
    """In one message. What its time did not reach is played in another one: a call that never ends
    is not held against those behind it."""
    steps = [step for plan in plans for step in plan]
    seen = iter(await sandbox.play(program, steps, hashes=hashes, in_place=in_place))
    played = [list(islice(seen, len(plan))) for plan in plans]
    late = [
        place
        for place, one in enumerate(played)
        if any((step.outcome, step.code) == ("failure", PLAN_OVER) for step in one)
    ]
    # A program that does not even start is asked no more.
    if late and again and any(one[0].outcome == "ok" for one in played):
        left = [plans[place] for place in late]
        rest = await _play(program, left, sandbox, again - 1, hashes, in_place)
        for place, one in zip(late, rest, strict=True):
            played[place] = one
    return played


def _cut(plans: Sequence[Sequence[Step]]) -> Iterator[Sequence[Sequence[Step]]]:
    batch, steps, most = list[Sequence[Step]](), 0, _FIRST
    for plan in plans:
        if batch and (len(batch) == most or steps + len(plan) > _STEPS):
            yield batch
            batch, steps, most = [], 0, _LATER
        batch.append(plan)
        steps += len(plan)
    if batch:
        yield batch
