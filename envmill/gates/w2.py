"""W2: the program imports in the jail, constructs, and gives every state it is known to take back as it was put in."""

from envmill.errors import BuildError
from envmill.gates.base import Built, Finding, Means, drop, keep
from envmill.kinds.start import CLOCK
from envmill.sandbox import Look, Program, Reset
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json

GATE = "W2"


async def look(built: Built, means: Means) -> Finding:
    """Load, construct on every distinct known state, and read it back."""
    program = Program.of(built.environment)
    try:
        await means.sandbox.inspect(program)
    except BuildError as error:
        return drop(GATE, "does_not_load", error.message)
    states = list_states(built)
    seen = await means.sandbox.play(program, [step for state in states for step in (Reset(state, CLOCK, 0), Look())])
    for state, reset, end in zip(states, seen[::2], seen[1::2], strict=True):
        if reset.outcome != "ok" or end.outcome != "ok":
            failed = end if reset.outcome == "ok" else reset
            return drop(GATE, "does_not_construct", f"{failed.code}: {failed.message}")
        if changes := diff_states(state, end.state):
            where = ".".join(changes[0].path) or "the root"
            return drop(GATE, "state_not_kept", f"the state read back differs at {where}", [change.model_dump() for change in changes[:5]])
    return keep(GATE, {"states": len(states)})


def list_states(built: Built) -> list[dict[str, Json]]:
    """Distinct initial states of the tests, then those of the examples."""
    states = [*(test.initial_state for test in built.tests), *built.examples]
    return list({canonical_json(state): state for state in states}.values())
