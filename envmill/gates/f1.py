"""F1, thin: at least one probe rollout of the named policy passes."""

from collections.abc import Sequence

from envmill.gates.base import Finding, drop, keep
from schemas.rollout import Rollout

GATE = "F1"


def require_solved(probes: Sequence[Rollout]) -> Finding:
    """A probe that ended in error is no evidence either way; where all did, the environment fails whoever plays it."""
    judged = [probe for probe in probes if probe.outcome != "error"]
    if not judged:
        return drop(GATE, "environment_fails", f"all {len(probes)} probes ended in a failure of the environment")
    passed = sum(probe.outcome == "pass" for probe in judged)
    seen = {"policy": judged[0].policy, "passed": passed, "attempts": len(judged)}
    return keep(GATE, seen) if passed else drop(GATE, "unsolved", f"0 of {len(judged)} probes pass", seen)
