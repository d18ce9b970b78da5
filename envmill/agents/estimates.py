"""What a group of attempts says about a policy: its rate with an interval, and the chances of
groups of k.

rollouts ─► tally (errors apart) ─► rate, Wilson's interval, pass@k, pass^k
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import comb, sqrt

from schemas.rollout import Rollout

Z95 = 1.959963984540054
"""Of the standard normal distribution: 95 % lie within."""


@dataclass(frozen=True)
class AttemptTally:
    """Attempts, counted. An error is none: it says nothing about the policy. A conversation that
    its user spoilt counts among those that
    were judged, and never passes: otherwise a policy would gain by spoiling the ones it would
    lose."""

    passed: int
    judged: int
    errors: int = 0

    @classmethod
    def of(cls, rollouts: Iterable[Rollout]) -> "AttemptTally":
        outcomes = ["fault" if one.termination == "user_fault" else one.outcome for one in rollouts]
        errors = outcomes.count("error")
        return cls(outcomes.count("pass"), len(outcomes) - errors, errors)

    @property
    def rate(self) -> float | None:
        """Passes per attempt that was judged; None when none was."""
        return self.passed / self.judged if self.judged else None


def estimate_any(passed: int, judged: int, k: int) -> float | None:
    """pass@k: the chance that of k attempts at least one passes, without bias; None for fewer than
    k attempts.

    Of all ways to take k of the attempts that were made, the share that holds a pass; 1 − (1 −
    rate)^k would be biased.
    """
    _check(passed, judged, k)
    return 1 - comb(judged - passed, k) / comb(judged, k) if judged >= k else None


def estimate_all(passed: int, judged: int, k: int) -> float | None:
    """pass^k: the chance that all of k attempts pass, without bias; None for fewer than k
    attempts."""
    _check(passed, judged, k)
    return comb(passed, k) / comb(judged, k) if judged >= k else None


def find_interval(passed: int, judged: int, z: float = Z95) -> tuple[float, float]:
    """Wilson's score interval of a rate: near its nominal coverage for few attempts too, and never
    outside 0 to 1.

    A bound that must hold, like those of a verifier's errors, is Clopper and Pearson's instead
    (`verifiers/bounds.py`).
    """
    _check(passed, judged, 1)
    if not judged:
        return 0.0, 1.0
    rate, weight = passed / judged, z * z / judged
    centre = (rate + weight / 2) / (1 + weight)
    reach = z / (1 + weight) * sqrt(rate * (1 - rate) / judged + weight / (4 * judged))
    # At the ends the formula gives them but for rounding.
    return 0.0 if not passed else max(0.0, centre - reach), 1.0 if passed == judged else min(
        1.0, centre + reach
    )


def _check(passed: int, judged: int, k: int) -> None:
    if not 0 <= passed <= judged or k < 1:
        raise ValueError(
            f"{passed} passes of {judged} attempts in groups of {k}: count passes among judged "
            "attempts, and k from 1."
        )
