"""F1, thin: at least one probe rollout of the named policy passes."""

from collections.abc import Sequence

from envmill.gates.base import Finding, drop, keep
from schemas.rollout import Rollout

GATE = "F1"


def require_solved(probes: Sequence[Rollout]) -> Finding:
    """Errors are no evidence either way; without any judged probe nothing was measured."""
    judged = [probe for probe in probes if probe.outcome != "error"]
    if not judged:
        return Finding(GATE, "not_measured", "no_verdict", "every probe ended in error")
    passed = sum(probe.outcome == "pass" for probe in judged)
    seen = {"policy": judged[0].policy, "passed": passed, "attempts": len(judged)}
    return keep(GATE, seen) if passed else drop(GATE, "unsolved", f"0 of {len(judged)} probes pass", seen)
