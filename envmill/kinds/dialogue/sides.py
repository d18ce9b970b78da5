"""Whether a program keeps to its sides: each call of a path changes what its tool and the couplings
declare, and nothing else.

reference path ─► a look after each call ─► collections that differ ─► declared? ─► words for the author
"""

from collections.abc import Iterator, Sequence

from envmill.errors import BuildError
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Program, Sandbox
from schemas.base import Json
from schemas.dialogue import Dialogue
from schemas.environment import Call, Environment
from schemas.scenario import Draft


async def check_sides(
    dialogue: Dialogue, draft: Draft, environment: Environment, sandbox: Sandbox
) -> None:
    """BuildError with each call that changed more than was declared."""
    plan = [
        start(draft),
        Look(),
        *(step for call in draft.oracle for step in (Invoke(call), Look())),
    ]
    seen = await sandbox.play(Program.of(environment), plan)
    states = [step.state for step in seen[1::2]]
    queries = {tool.name for tool in environment.tools if tool.effect == "query"}
    if faults := [*_find_strays(dialogue, draft.oracle, states, queries)]:
        raise BuildError(" ".join(faults), reason="no_verifier")


def _find_strays(
    dialogue: Dialogue, calls: Sequence[Call], states: Sequence[Json], queries: set[str]
) -> Iterator[str]:
    coupled = {name for coupling in dialogue.couplings for name in coupling.writes}
    for place, (call, before, after) in enumerate(zip(calls, states, states[1:], strict=False), 1):
        changed = (
            [name for name in after if after[name] != before.get(name)]
            if before is not None and after is not None
            else []
        )
        made = f"Call {place}, {call.name} of the {call.actor},"
        if call.name in queries and changed:
            told = ", ".join(changed)
            yield (
                f"{made} only reads, and {told} changed: the initial state is not settled. Write "
                "it as the couplings leave it."
            )
            continue
        touch = dialogue.touches.get(call.name)
        for name in changed:
            if name not in coupled and (touch is None or name not in touch.writes):
                side = dialogue.sides.get(name, "")
                yield (
                    f"{made} changed {name} of the {side}'s side, and neither `touches` nor a "
                    "coupling says so."
                )
