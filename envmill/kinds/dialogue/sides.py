"""Whether a program keeps to its sides: each call of a path changes what its tool and the couplings
declare, and nothing else.

reference path ─► a look after each call ─► collections that differ ─► declared? ─► words for the author
"""

from collections.abc import Iterator, Sequence

from envmill.base.errors import BuildError
from envmill.kinds.start import start, start_test
from envmill.sandbox import Invoke, Look, Program, Sandbox
from schemas.base import Json
from schemas.database import Touch
from schemas.dialogue import Dialogue
from schemas.environment import Call, Environment, Test
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


async def widen_touches(
    dialogue: Dialogue, environment: Environment, tests: Sequence[Test], sandbox: Sandbox
) -> Dialogue:
    """With the collections of its own side that a tool was seen to write and does not name: its
    author forgot to say so, and nobody is misled. What it writes of the other side stays a fault."""
    coupled = {name for coupling in dialogue.couplings for name in coupling.writes}
    touches = dict(dialogue.touches)
    queries = {tool.name for tool in environment.tools if tool.effect == "query"}
    for test in (one for one in tests if one.expect == "success" and one.call.name not in queries):
        steps = [*map(Invoke, test.setup), Look(), Invoke(test.call), Look()]
        seen = await sandbox.play(Program.of(environment), [start_test(test), *steps])
        before, after = seen[-3].state or {}, seen[-1].state or {}
        name = test.call.name
        side = "user" if name in dialogue.user_tools else "agent"
        touch = touches.get(name, Touch())
        more = [
            one
            for one in after
            if after[one] != before.get(one)
            and one not in (*touch.writes, *coupled)
            and dialogue.sides.get(one) == side
        ]
        touches[name] = touch.model_copy(update={"writes": [*touch.writes, *more]})
    return dialogue.model_copy(update={"touches": touches})


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
