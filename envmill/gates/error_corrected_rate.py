"""Estimates the share of faulty cases if the judge of the cases errs: Rogan and Gladen's estimate
with an interval.

The interval is Lang and Reiczigel's (2014). It allows for the fact that sensitivity and false
alarms are measured themselves, on few cases.
"""

from dataclasses import dataclass
from math import sqrt

_Z = 1.96  # 95 %


@dataclass(frozen=True)
class Proportion:
    """A number of hits among n cases."""

    hits: int
    n: int

    @property
    def share(self) -> float:
        return self.hits / self.n if self.n else 0.0


@dataclass(frozen=True)
class Estimate:
    """A share between 0 and 1, and where it lies with 95 % confidence."""

    share: float
    low: float
    high: float


def correct(flagged: Proportion, caught: Proportion, alarms: Proportion) -> Estimate:
    """The share of faulty cases, estimated from the share of flagged ones. `caught` is the judge's
    share of known faults flagged, `alarms` its share of right cases flagged.

    Raises ValueError if the judge guesses.
    """
    gain = caught.share - alarms.share
    if gain <= 0:
        raise ValueError("a judge that flags good and faulty items equally often tells nothing")
    low, high = _interval(flagged, caught, alarms)
    return Estimate(_clip((flagged.share - alarms.share) / gain), low, high)


def _interval(flagged: Proportion, caught: Proportion, alarms: Proportion) -> tuple[float, float]:
    n, seen = flagged.n + _Z**2, (flagged.hits + _Z**2 / 2) / (flagged.n + _Z**2)
    sensitivity, false = (caught.hits + 1) / (caught.n + 2), (alarms.hits + 1) / (alarms.n + 2)
    gain = max(sensitivity - false, 1e-9)
    share = (seen - false) / gain
    missed, rung = (
        sensitivity * (1 - sensitivity) / (caught.n + 2),
        false * (1 - false) / (alarms.n + 2),
    )
    shift = 2 * _Z**2 * (share * missed - (1 - share) * rung)
    spread = _Z * sqrt(seen * (1 - seen) / n + share**2 * missed + (1 - share) ** 2 * rung) / gain
    return _clip(share + shift - spread), _clip(share + shift + spread)


def _clip(share: float) -> float:
    return min(1.0, max(0.0, share))
