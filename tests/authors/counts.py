"""Shares with their bounds, by environment where items of one environment stand or fall together;
and agreement of two readers."""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence

from envmill.verifiers.bounds import limit_share

DRAWS = 4000
LOWER = 0.10
"""Share of the draws that lie below a lower 90 % bound."""


def bound_below(groups: Iterable[tuple[str, bool]]) -> float:
    """Lower 90 % bound of a share whose items come in groups: groups are drawn anew with
    replacement."""
    held: dict[str, list[bool]] = defaultdict(list)
    for group, good in groups:
        held[group].append(good)
    counts = [(sum(found), len(found)) for found in held.values()]
    if not counts:
        return 0.0
    dice = random.Random(0)
    shares: list[float] = []
    for _ in range(DRAWS):
        drawn = dice.choices(counts, k=len(counts))
        shares.append(sum(good for good, _ in drawn) / sum(count for _, count in drawn))
    return sorted(shares)[int(DRAWS * LOWER)]


def bound_above(bad: int, whole: int) -> float:
    """Upper 95 % bound of a share of independent items."""
    return limit_share(bad, whole) if whole else 1.0


def measure_agreement(pairs: Sequence[tuple[bool, bool]]) -> float:
    """Cohen's kappa; 1 where both always say the same of everything."""
    if not pairs:
        return 0.0
    same = sum(one == other for one, other in pairs) / len(pairs)
    first, second = (sum(pair[place] for pair in pairs) / len(pairs) for place in (0, 1))
    chance = first * second + (1 - first) * (1 - second)
    return 1.0 if chance == 1 else (same - chance) / (1 - chance)
