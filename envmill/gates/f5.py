"""F5: trainable: a group of attempts by the probe's policy most likely holds both passes and failures."""

from collections.abc import Sequence
from math import exp, lgamma

from envmill.gates.base import Finding, drop, keep, pass_by, skip
from schemas.rollout import Rollout

GATE = "F5"
GROUP = 8
"""Attempts a trainer compares with each other."""
LEAST = 0.5
PRIOR = (0.5, 0.5)
"""Of the pass rate, before any probe: most scenarios are nearly always or nearly never solved (Jeffreys)."""


def require_variance(probes: Sequence[Rollout], *, scripted: bool) -> Finding:
    """A scripted policy's slips say nothing about difficulty: its chance is told and decides nothing."""
    judged = [probe for probe in probes if probe.outcome != "error"]
    if not judged:
        return skip(GATE, "no_probes", "No probe could be judged: nothing is known about the pass rate.")
    passed = sum(probe.outcome == "pass" for probe in judged)
    chance = estimate_variance(passed, len(judged))
    told = f"{passed} of {len(judged)} probes pass; {GROUP} attempts differ in reward with probability {chance:.2f}"
    if scripted:
        return pass_by(GATE, "scripted_policy", told)
    evidence = {"passed": passed, "attempts": len(judged), "group": GROUP, "variance": round(chance, 4)}
    return keep(GATE, evidence) if chance >= LEAST else drop(GATE, "no_variance", told, evidence)


def estimate_variance(passed: int, attempts: int, group: int = GROUP, prior: tuple[float, float] = PRIOR) -> float:
    """Probability that a group neither passes nor fails as a whole, over the posterior of the pass rate."""
    up, down = prior[0] + passed, prior[1] + attempts - passed
    return 1.0 - _all_alike(up, down, group) - _all_alike(down, up, group)


def _all_alike(up: float, down: float, group: int) -> float:
    """Mean of rate ** group under Beta(up, down)."""
    return exp(lgamma(up + group) - lgamma(up) + lgamma(up + down) - lgamma(up + down + group))
