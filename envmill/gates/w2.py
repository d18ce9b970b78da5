"""W2: the program imports in the jail, constructs, and gives every known state back unchanged."""

import re
from collections.abc import Mapping

from envmill.base.errors import BuildError
from envmill.gates.base import EnvironmentCase, Finding, GateContext, drop, keep
from envmill.gates.exploring.memory import find_program
from envmill.gates.exploring.start_states import find_starts
from envmill.gates.exploring.table_touches import find_misread
from envmill.kinds import kind_of
from envmill.kinds.start import CLOCK
from envmill.sandbox import Look, Reset
from envmill.verifiers.diff import diff_states
from schemas.environment import Environment
from schemas.ledger import ReasonClass

GATE = "W2"
CODES: Mapping[str, ReasonClass] = {
    "does_not_load": "proof",
    "does_not_construct": "proof",
    "schema_misread": "proof",
    "state_not_kept": "proof",
}

_METHOD = re.compile(r"(?m)^\s+def (\w+)\(")


async def check(built: EnvironmentCase, means: GateContext) -> Finding:
    """Construct on every distinct known state, and read it back; whether it loads at all is asked
    where that does not say it."""
    program = find_program(built.environment)
    states = find_starts(built).distinct
    seen = await means.sandbox.play(
        program, [step for state in states for step in (Reset(state, CLOCK, 0), Look())]
    )
    try:
        # A process of its own costs as much as a hundred calls.
        if (
            not seen
            or any(one.outcome != "ok" for one in seen)
            or not _defines_tools(built.environment)
        ):
            await means.sandbox.inspect(program)
    except BuildError as error:
        return drop(GATE, "does_not_load", error.message)
    for state, reset, end in zip(states, seen[::2], seen[1::2], strict=True):
        if reset.outcome != "ok" or end.outcome != "ok":
            failed = end if reset.outcome == "ok" else reset
            return drop(GATE, "does_not_construct", f"{failed.code}: {failed.message}")
        if kind_of(built.environment).tabled and (
            misread := find_misread(built.environment.tables, end.state)
        ):
            return drop(GATE, "schema_misread", misread)
        if changes := diff_states(state, end.state):
            where = ".".join(changes[0].path) or "the root"
            return drop(
                GATE,
                "state_not_kept",
                f"the state read back differs at {where}",
                [change.model_dump() for change in changes[:5]],
            )
    return keep(GATE, {"states": len(states)})


def _defines_tools(environment: Environment) -> bool:
    """Whether the text defines every tool as a method. For a tool that comes from elsewhere, the
    jail is asked."""
    found = {name for text in environment.files.values() for name in _METHOD.findall(text)}
    return found.issuperset(tool.name for tool in environment.tools)
