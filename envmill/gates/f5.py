"""F5: labels scenarios whose attempts by the probe's policy would most likely all pass or all fail.

probes of the siblings ─► prior: their rate, and how alike they are ─┐
probes of the scenario ──────────────────────────────────────────────┴─► posterior ─► chance of variance in a group
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma
from typing import Protocol

from envmill.gates.base import Finding, drop, keep, pass_by, skip
from schemas.rollout import Rollout

GATE = "F5"
GROUP = 8
"""Attempts a trainer compares with each other."""
LEAST = 0.5
PRIOR = (0.5, 0.5)
"""Of the pass rate, before any probe: most scenarios are nearly always or nearly never solved
(Jeffreys)."""
WEAKEST, STRONGEST = 1.0, 4.0
"""Attempts that a prior made of siblings counts as. It never outweighs a scenario's own four
probes."""
_DOUBT = 3.0
"""Number of attempts at even odds added to the siblings' rate, and number of siblings at which half
of their likeness is believed. The effect was simulated with 4 and 10 scenarios of four probes. If
the pass rates of an environment are alike, the squared error of the chance falls by a sixth to
three quarters. If each of them is near 0 or 1, it rises by a quarter at most."""
_FEW = 3
"""Minimal number of siblings for an estimate of how alike they are."""


class Probe(Protocol):
    """The attributes of a probe that this gate reads: a rollout, or these columns of one."""

    @property
    def outcome(self) -> str: ...
    @property
    def policy(self) -> str: ...
    @property
    def checkpoint(self) -> str: ...


@dataclass(frozen=True)
class ProbeCounts:
    """A scenario's probes, counted."""

    environment: str
    policy: str
    passed: int
    judged: int
    scripted: bool

    @classmethod
    def of(cls, environment: str, probes: Sequence[Probe]) -> "ProbeCounts":
        """Errors are no attempts, those of the simulated user among them: they have no reward that a trainer could compare."""
        judged = [probe for probe in probes if probe.outcome != "error"]
        passed = sum(probe.outcome == "pass" for probe in judged)
        policy = (judged[0].checkpoint or judged[0].policy) if judged else ""
        return cls(
            environment, policy, passed, len(judged), not any(probe.checkpoint for probe in judged)
        )


def find_untrainable(
    probed: Mapping[str, ProbeCounts], *, drops: bool = False
) -> dict[str, Finding]:
    """A decision over the whole set: each scenario's prior is made of its siblings, those of its environment probed by the same policy."""
    groups: dict[tuple[str, str], list[str]] = defaultdict(list)
    for scenario, one in sorted(probed.items()):
        groups[one.environment, one.policy].append(scenario)
    return {
        scenario: require_variance(
            probed[scenario],
            pool_prior([probed[other] for other in group if other != scenario]),
            drops=drops,
        )
        for group in groups.values()
        for scenario in group
    }


def require_variance(
    probed: ProbeCounts, prior: tuple[float, float] = PRIOR, *, drops: bool = False
) -> Finding:
    """A label, or a drop if the run `drops` scenarios without variance. A scripted policy's slips
    say nothing about difficulty: its chance is reported and decides nothing."""
    if not probed.judged:
        return skip(
            GATE, "no_probes", "No probe could be judged: nothing is known about the pass rate."
        )
    chance = estimate_variance(probed.passed, probed.judged, GROUP, prior)
    told = (
        f"{probed.passed} of {probed.judged} probes pass; {GROUP} attempts differ in reward with "
        f"probability {chance:.2f}"
    )
    if probed.scripted:
        return pass_by(GATE, "scripted_policy", told)
    evidence = {
        "policy": probed.policy,
        "passed": probed.passed,
        "attempts": probed.judged,
        "group": GROUP,
        "prior": [round(part, 4) for part in prior],
        "variance": round(chance, 4),
    }
    if chance >= LEAST:
        return keep(GATE, evidence)
    return (
        drop(GATE, "no_variance", told, evidence)
        if drops
        else keep(GATE, evidence | {"label": "no_variance"})
    )


def pool_prior(siblings: Sequence[ProbeCounts]) -> tuple[float, float]:
    """A beta prior with the siblings' rate; Jeffreys' prior if there are none. The more alike the
    siblings are, the more attempts it is worth. With few siblings, both the rate and the weight
    shrink to a default."""
    known = [one for one in siblings if one.judged]
    passed, judged = sum(one.passed for one in known), sum(one.judged for one in known)
    rate = (passed + _DOUBT / 2) / (judged + _DOUBT)
    strength = WEAKEST + (_weigh(known) - WEAKEST) * len(known) / (len(known) + _DOUBT)
    return rate * strength, (1 - rate) * strength


def _weigh(siblings: Sequence[ProbeCounts]) -> float:
    """1 / r − 1, where r is the correlation of two attempts at one scenario, from the variance
    between and within scenarios."""
    count, total = len(siblings), sum(one.judged for one in siblings)
    if count < _FEW or total == count:
        return WEAKEST
    passed, squares = (
        sum(one.passed for one in siblings),
        sum(one.passed**2 / one.judged for one in siblings),
    )
    between = (squares - passed**2 / total) / (count - 1)
    within = (passed - squares) / (total - count)
    size = (total - sum(one.judged**2 for one in siblings) / total) / (count - 1)
    if between <= within:
        return STRONGEST if within else WEAKEST
    alike = (between - within) / (between + (size - 1) * within)
    return min(STRONGEST, max(WEAKEST, 1 / alike - 1))


def estimate_variance(
    passed: int, attempts: int, group: int = GROUP, prior: tuple[float, float] = PRIOR
) -> float:
    """Probability that a group neither passes nor fails as a whole, over the posterior of the pass rate."""
    up, down = prior[0] + passed, prior[1] + attempts - passed
    return 1.0 - _all_alike(up, down, group) - _all_alike(down, up, group)


def is_settled(probes: Sequence[Rollout], most: int) -> bool:
    """Whether the attempts that are left to `most` could change nothing, before anything is known
    of siblings."""
    judged = [probe for probe in probes if probe.outcome != "error"]
    passed, left = sum(probe.outcome == "pass" for probe in judged), most - len(probes)
    ends = {
        (passed + more > 0, estimate_variance(passed + more, len(judged) + left) >= LEAST)
        for more in range(left + 1)
    }
    return bool(judged) and len(ends) == 1


def _all_alike(up: float, down: float, group: int) -> float:
    """Mean of rate ** group under Beta(up, down)."""
    return exp(lgamma(up + group) - lgamma(up) + lgamma(up + down) - lgamma(up + down + group))
