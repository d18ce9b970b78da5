"""What changed between two states of many rows, and what telling it costs beside comparing them row
by row."""

import copy
import time
from collections.abc import Callable, Iterator

from envmill.verifiers.diff import diff_states
from schemas.base import Json
from tests.bench.plane.timing import Row, row

SIZES = (1_000, 10_000, 100_000)
CHANGED = 50
ROUNDS = 5


def measure() -> Iterator[Row]:
    """A row for each size."""
    for size in SIZES:
        before: Json = {
            "rows": {
                f"r{number}": {"name": f"row {number}", "price": number * 1.5, "tags": ["a", "b"]}
                for number in range(size)
            }
        }
        after = copy.deepcopy(before)
        for number in range(0, size, size // CHANGED):
            after["rows"][f"r{number}"]["price"] += 1
        assert len(list(diff_states(before, after))) == CHANGED
        told, compared = (
            _time(lambda b=before, a=after: list(diff_states(b, a))),
            _time(lambda b=before, a=after: _count(b, a)),
        )
        yield row(
            f"diff_{size}",
            f"change set of two states, {CHANGED} of {size:,} rows changed; beside comparing row "
            "by row",
            told,
            compared,
            "ms",
        )


def _count(before: Json, after: Json) -> int:
    return sum(row != after["rows"][key] for key, row in before["rows"].items())


def _time(work: Callable[[], object]) -> float:
    taken: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1e3)
    return min(taken)
