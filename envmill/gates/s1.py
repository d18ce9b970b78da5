"""S1: the oracle replays, none of its calls is rejected, and it passes, twice."""

from envmill.gates.base import Finding, drop, keep
from envmill.kinds.start import start
from envmill.sandbox import Invoke, Look, Program, Sandbox
from envmill.verifiers.court import decide
from schemas.environment import Environment
from schemas.scenario import Scenario

GATE = "S1"


async def replay_oracle(scenario: Scenario, environment: Environment, sandbox: Sandbox) -> Finding:
    """Two private copies; both must pass and end in the same state."""
    hashes: list[str] = []
    for _ in range(2):
        seen = await sandbox.play(Program.of(environment), [start(scenario), *map(Invoke, scenario.oracle), Look()])
        if seen[0].outcome != "ok":
            return drop(GATE, "does_not_construct", f"the initial state is not taken ({seen[0].code}: {seen[0].message})")
        for step, call in zip(seen[1:-1], scenario.oracle, strict=True):
            if step.outcome != "ok":
                return drop(
                    GATE, "oracle_rejected", f"{call.name} ended in {step.outcome} ({step.code}: {step.message})", call.model_dump()
                )
        verdict = await decide(sandbox, scenario.verifier, scenario.initial_state, seen[-1].state, scenario.clock)
        if verdict.outcome != "pass":
            return drop(GATE, "oracle_fails", verdict.reason, verdict.model_dump())
        hashes.append(seen[-1].state_hash)
    return keep(GATE) if hashes[0] == hashes[1] else drop(GATE, "oracle_differs", "two replays end in different states", hashes)
