"""W2: the program imports in the jail, constructs, and gives a state back as it was put in."""

from collections.abc import Sequence

from envmill.errors import BuildError
from envmill.gates.base import Finding, drop, keep
from envmill.kinds.start import start_test
from envmill.sandbox import Look, Program, Sandbox
from envmill.verifiers.diff import diff_states
from schemas.base import canonical_json
from schemas.environment import Environment, Test

GATE = "W2"


async def construct(environment: Environment, tests: Sequence[Test], sandbox: Sandbox) -> Finding:
    """Load, construct with every distinct stored state, and read it back."""
    program = Program.of(environment)
    try:
        await sandbox.inspect(program)
    except BuildError as error:
        return drop(GATE, "does_not_load", error.message)
    starts = {canonical_json(test.initial_state): test for test in tests}
    for test in starts.values():
        reset, look = await sandbox.play(program, [start_test(test), Look()])
        if reset.outcome != "ok" or look.outcome != "ok":
            failed = look if reset.outcome == "ok" else reset
            return drop(GATE, "does_not_construct", f"{failed.code}: {failed.message}")
        if changes := diff_states(test.initial_state, look.state):
            where = ".".join(changes[0].path) or "the root"
            return drop(GATE, "state_not_kept", f"the state read back differs at {where}", [change.model_dump() for change in changes[:5]])
    return keep(GATE)
