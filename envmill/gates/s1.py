"""S1: the oracle replays, none of its calls is rejected, and it passes, twice."""

from envmill.agents.trial import try_calls
from envmill.gates.base import Finding, drop, keep
from envmill.sandbox import Sandbox
from schemas.environment import Environment
from schemas.scenario import Scenario

GATE = "S1"


async def replay_oracle(scenario: Scenario, environment: Environment, sandbox: Sandbox) -> Finding:
    """Two private copies; both must pass and end in the same state."""
    hashes: list[str] = []
    for _ in range(2):
        trial = await try_calls(scenario, environment, sandbox, scenario.oracle, [scenario.say] if scenario.say else ())
        seen = trial.seen
        if seen[0].outcome != "ok":
            return drop(GATE, "does_not_construct", f"the initial state is not taken ({seen[0].code}: {seen[0].message})")
        for step, call in zip(seen[1:-1], scenario.oracle, strict=True):
            if step.outcome != "ok":
                return drop(
                    GATE, "oracle_rejected", f"{call.name} ended in {step.outcome} ({step.code}: {step.message})", call.model_dump()
                )
        verdict = trial.verdict
        if verdict.outcome != "pass":
            return drop(GATE, "oracle_fails", verdict.reason, verdict.model_dump())
        hashes.append(seen[-1].state_hash)
    return keep(GATE) if hashes[0] == hashes[1] else drop(GATE, "oracle_differs", "two replays end in different states", hashes)
