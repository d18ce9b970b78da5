"""What people wait for at the terminal."""

import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

from envmill.base.settings import ROOT
from tests.bench.factory import measure_factory
from tests.bench.reporting import measure_report

ROUNDS = 7


def rows() -> Iterator[dict[str, Any]]:
    """`--help`, beside an interpreter that only starts and ends; then the demo's run, and the
    report of a large one."""
    yield {
        "id": "help",
        "what": "envmill --help, beside a bare interpreter",
        "measured": _median_seconds(["-m", "flows.cli", "--help"]),
        "baseline": _median_seconds(["-c", "pass"]),
        "unit": "s",
    }
    yield from measure_factory()
    yield from measure_report()


def _median_seconds(arguments: Sequence[str]) -> float:
    """The first round warms the file cache and is not counted."""
    seconds: list[float] = []
    for _ in range(ROUNDS + 1):
        start = time.perf_counter()
        subprocess.run(
            [sys.executable, *arguments],
            cwd=ROOT,
            stdout=subprocess.DEVNULL,
            check=True,
            timeout=60,
        )
        seconds.append(time.perf_counter() - start)
    return statistics.median(seconds[1:])
