"""Many sessions of one program, played in few messages, with what came of each."""

from collections.abc import Iterator, Sequence
from itertools import islice

from envmill.gates.memory import Memory
from envmill.sandbox import Observation, Program, Sandbox, Step
from schemas.environment import Environment

_FIRST, _LATER = 3, 96
"""Sessions in the first message and in those after it: when a jail has seen a program start a few times, it may start it over in place,
which costs a tenth of a process of its own; it finds that out between messages."""

_programs: Memory[Program] = Memory()


def find_program(environment: Environment) -> Program:
    """One for all gates of an environment: how it travels is computed once."""
    return _programs.find(environment.id) or _programs.keep(environment.id, Program.of(environment))


async def play_plans(
    program: Program, plans: Sequence[Sequence[Step]], sandbox: Sandbox, *, in_place: bool = False
) -> list[list[Observation]]:
    """Observations per plan; each plan begins with a reset. `in_place` is for those who look around, as in `Sandbox.play`."""
    played: list[list[Observation]] = []
    for batch in _cut(plans):
        seen = iter(await sandbox.play(program, [step for plan in batch for step in plan], in_place=in_place))
        played += [list(islice(seen, len(plan))) for plan in batch]
    return played


def _cut(plans: Sequence[Sequence[Step]]) -> Iterator[Sequence[Sequence[Step]]]:
    if plans:
        yield plans[:_FIRST]
    yield from (plans[at : at + _LATER] for at in range(_FIRST, len(plans), _LATER))
