"""How far a night may lie from the last ones: bounds on each mean, from what those nights measured.

means of 14 nights ─► centre, and the wider of two spreads: how the nights differ, and what chance does to a night of this size
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportMissingTypeStubs=false
# (pandas and scipy ship loose types)

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from quality.nights.frames import list_drifting

if TYPE_CHECKING:
    import pandas as pd

NIGHTS, LEAST_NIGHTS = 14, 5
"""Nights that are compared with, and how many there must be."""
LEAST_ROWS = 6
"""A mean of fewer rows is not compared."""
DOUBT = 2e-4
"""Chance that one mean of a quiet night lies outside its bounds. There are about thirty."""


@dataclass(frozen=True)
class Mean:
    """What a night measured of one column."""

    rows: int
    mean: float
    spread: float
    """Standard deviation of a row."""


@dataclass(frozen=True)
class MeanBounds:
    """Where the mean of tonight should lie."""

    low: float
    high: float
    nights: int

    def holds(self, found: Mean) -> bool:
        return self.low <= found.mean <= self.high


def measure(frames: "Mapping[str, pd.DataFrame]") -> dict[str, Mean]:
    """`frame.column` → its mean, where enough rows have it."""
    found: dict[str, Mean] = {}
    for frame, column in list_drifting():
        if frame not in frames:
            continue
        numbers = frames[frame][column.name].dropna().to_numpy(dtype=float)
        if numbers.size >= LEAST_ROWS:
            found[f"{frame}.{column.name}"] = Mean(
                numbers.size, float(numbers.mean()), float(numbers.std())
            )
    return found


def bound(
    tonight: Mapping[str, Mean], nights: Sequence[Mapping[str, Mean]]
) -> dict[str, MeanBounds]:
    """Bounds for everything that tonight measured and enough of the last nights did, too."""
    shares = {f"{frame}.{column.name}" for frame, column in list_drifting() if column.share}
    found: dict[str, MeanBounds] = {}
    for name, now in tonight.items():
        before = [one[name] for one in nights[-NIGHTS:] if name in one]
        if len(before) >= LEAST_NIGHTS:
            found[name] = _bound(now, before, share=name in shares)
    return found


def _bound(now: Mean, before: Sequence[Mean], *, share: bool) -> MeanBounds:
    centre = sum(one.mean for one in before) / len(before)
    between = math.sqrt(sum((one.mean - centre) ** 2 for one in before) / (len(before) - 1))
    chance = _spread_of_row(before, share=share) / math.sqrt(now.rows)
    reach = find_quantile(len(before) - 1) * max(between, chance) * math.sqrt(1 + 1 / len(before))
    low, high = centre - reach, centre + reach
    return MeanBounds(max(0.0, low), min(1.0, high) if share else high, len(before))


def _spread_of_row(before: Sequence[Mean], *, share: bool) -> float:
    """Of a share that was always 0 or 1 so far, one case more than was seen is thought possible."""
    rows = sum(one.rows for one in before)
    if not share:
        return math.sqrt(sum(one.rows * one.spread**2 for one in before) / rows)
    likely = (sum(one.rows * one.mean for one in before) + 1) / (rows + 2)
    return math.sqrt(likely * (1 - likely))


def find_quantile(freedom: int) -> float:
    """Of Student's distribution: how many spreads a quiet night's mean lies off, but for
    `DOUBT`."""
    from scipy.stats import t

    return float(t.ppf(1 - DOUBT / 2, freedom))
