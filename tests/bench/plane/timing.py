"""Timing: works in turns, so that a noisy neighbour troubles all alike; p50 and p99 of what each
took."""

import time
from collections.abc import Callable, Sequence
from typing import Any

Row = dict[str, Any]


class Times:
    """Microseconds of one work."""

    def __init__(self) -> None:
        self.taken: list[float] = []

    def measure(self, work: Callable[[], object], times: int) -> None:
        for _ in range(times):
            start = time.perf_counter()
            work()
            self.taken.append((time.perf_counter() - start) * 1e6)

    def at(self, share: float) -> float:
        ordered = sorted(self.taken)
        return ordered[min(len(ordered) - 1, int(len(ordered) * share))]

    @property
    def p50(self) -> float:
        return self.at(0.5)

    @property
    def p99(self) -> float:
        return self.at(0.99)


def in_turns(works: Sequence[Callable[[], object]], times: int, turns: int = 12) -> list[Times]:
    """Each work so many times per turn."""
    found = [Times() for _ in works]
    for _ in range(turns):
        for work, taken in zip(works, found, strict=True):
            taken.measure(work, times)
    return found


def row(
    name: str, what: str, measured: float, baseline: float | None = None, unit: str = "µs"
) -> Row:
    return {"id": name, "what": what, "measured": measured, "baseline": baseline, "unit": unit}
