"""F1: solvable: at least one probe rollout of the named policy passes."""

from collections.abc import Sequence

from envmill.gates.base import Finding, drop, keep
from schemas.base import Json
from schemas.rollout import Rollout

GATE = "F1"
MOST_FAULTS = 0.2
"""Share of a scenario's conversations that its user may spoil."""
_LEAST_FAULTS = 2
"""Minimal number of spoilt conversations for a drop. One may be chance: two of a probe's four
attempts are conversations."""


def require_solved(probes: Sequence[Rollout]) -> Finding:
    """A probe that ended in error is no evidence. If all probes did, the drop names the cause,
    because it will fail every other policy, too."""
    if fault := find_user_fault(probes):
        return fault
    judged = [probe for probe in probes if probe.outcome != "error"]
    if not judged:
        return _blame(probes)
    passed = sum(probe.outcome == "pass" for probe in judged)
    seen = {"policy": name_actor(judged[0]), "passed": passed, "attempts": len(judged)}
    return (
        keep(GATE, seen)
        if passed
        else drop(
            GATE, "unsolved", f"0 of {len(judged)} probes of {name_actor(judged[0])} pass", seen
        )
    )


def find_user_fault(probes: Sequence[Rollout]) -> Finding | None:
    """A drop if the simulated user spoilt more than a fifth of the conversations, and more than
    one."""
    talks = [probe for probe in probes if probe.form == "conversation"]
    faults = [probe for probe in talks if probe.termination == "user_fault"]
    if len(faults) < _LEAST_FAULTS or len(faults) <= MOST_FAULTS * len(talks):
        return None
    words = (
        f"in {len(faults)} of {len(talks)} conversations the simulated user broke its contract, "
        f"last by: {faults[-1].misstep}"
    )
    seen: Json = {
        "conversations": len(talks),
        "user_faults": len(faults),
        "last": faults[-1].detail,
    }
    return drop(GATE, "user_fails", words, seen)


def name_actor(rollout: Rollout) -> str:
    """The name of a rollout's policy. A model goes by its own name, because `model` is another one
    in another run."""
    return rollout.checkpoint or rollout.policy


def _blame(probes: Sequence[Rollout]) -> Finding:
    faults = [probe for probe in probes if probe.termination == "user_fault"]
    if faults and len(faults) == len(probes):
        words = (
            f"in all {len(probes)} probes the simulated user broke its contract, last by: "
            f"{faults[-1].misstep} {faults[-1].detail}"
        ).strip()
        return drop(GATE, "user_fails", words)
    return drop(
        GATE,
        "environment_fails",
        f"all {len(probes)} probes ended in a failure of the environment or its user",
    )
