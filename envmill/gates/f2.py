"""F2: labels a scenario that a weak policy always solves."""

from collections.abc import Sequence

from envmill.gates.base import Finding, drop, keep, pass_by, skip
from envmill.gates.f1 import name_actor
from schemas.rollout import Rollout

GATE = "F2"
FEWEST = 4
"""Minimal number of attempts for a finding. If a policy solves a scenario every other time, a
quarter of all pairs of attempts pass twice."""


def require_challenge(rollouts: Sequence[Rollout], most: float, *, drops: bool = False) -> Finding:
    """`most` is the share of passes from which a scenario is too easy. Such a scenario gets a
    label, or a drop if the run `drops` it. Errors are no attempts. A scripted policy's slips say
    nothing about difficulty."""
    judged = [one for one in rollouts if one.outcome != "error"]
    passed, who = (
        sum(one.outcome == "pass" for one in judged),
        name_actor(judged[0]) if judged else "nobody",
    )
    told = f"{passed} of {len(judged)} attempts of {who} pass"
    if judged and not judged[0].checkpoint:
        return pass_by(GATE, "scripted_policy", told)
    if len(judged) < FEWEST:
        return skip(
            GATE,
            "too_few_attempts",
            f"{told}; {FEWEST} that could be judged are the fewest that say anything.",
        )
    seen = {"policy": who, "passed": passed, "attempts": len(judged), "most": most}
    if passed < most * len(judged):
        return keep(GATE, seen)
    return drop(GATE, "trivial", told, seen) if drops else keep(GATE, seen | {"label": "trivial"})
