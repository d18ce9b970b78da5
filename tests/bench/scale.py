"""Growth: memory and processor time of a run at several numbers of scenarios, of the scheduler at several numbers of items, each in a
process of its own; and what a question costs over many settled rows."""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from envmill.base.settings import ROOT
from tests.bench.settled import measure_opening, measure_settled

SIZES = (80, 320)
"""Scenarios of the runs that `make bench` measures; `make soak AREA=scale` goes further."""
ITEMS = (5_000, 20_000)
"""Items of the scheduler that `make bench` measures; `python -m tests.bench.crowd 1000000 FOLDER` goes further."""


def rows() -> Iterator[dict[str, Any]]:
    """The largest of the runs beside the smallest, and how time grows between them."""
    yield from measure_growth(SIZES)
    yield from measure_scheduler(ITEMS)
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        yield from measure_settled(Path(folder) / "large")
        yield from measure_opening(Path(folder) / "many")


def measure_growth(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Attempts and verdicts of gates are written and not played."""
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        found = {size: run_alone("growth", size, Path(folder) / str(size)) for size in sizes}
    first, last = found[sizes[0]], found[sizes[-1]]
    peaks = {name: told["peak"] for name, told in last["parts"].items()}
    highest = max(peaks, key=lambda name: peaks[name])
    what = f"peak memory of a run of {sizes[-1]:,} scenarios, in {highest}, beside {sizes[0]:,}"
    least = max(told["peak"] for told in first["parts"].values())
    yield {"id": "peak", "what": what, "measured": peaks[highest], "baseline": least, "unit": "MB"}
    for name in ("own", "seconds"):
        spent = [add_up(one, name) for one in (first, last)]
        said = "processor time of the process" if name == "own" else "time by the clock"
        yield {
            "id": f"exponent_{name}",
            "what": f"exponent of the {said} from {sizes[0]:,} to {sizes[-1]:,} scenarios",
            "measured": math.log(spent[1] / spent[0]) / math.log(sizes[-1] / sizes[0]),
        }


def add_up(run: dict[str, Any], name: str) -> float:
    """Seconds of all parts of a run, by the clock or of the processor."""
    return sum(told[name] for told in run["parts"].values())


def measure_scheduler(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Stub work: what buckets, leases, budget, rate and files of the lake cost by themselves."""
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        found = [run_alone("crowd", size, Path(folder) / str(size)) for size in sizes]
    first, last = found[0], found[-1]
    yield {
        "id": "item",
        "what": f"processor time of the scheduler for an item with nine rows, of {sizes[-1]:,}, beside {sizes[0]:,}",
        "measured": last["own"] / sizes[-1] * 1e3,
        "baseline": first["own"] / sizes[0] * 1e3,
        "unit": "ms",
    }
    yield {
        "id": "crowd_peak",
        "what": f"peak memory of the scheduler with {sizes[-1]:,} items, beside {sizes[0]:,}",
        "measured": last["peak"],
        "baseline": first["peak"],
        "unit": "MB",
    }


def run_alone(module: str, size: int, folder: Path) -> dict[str, Any]:
    """One run in a process of its own, whose memory is measured."""
    command = [sys.executable, "-m", f"tests.bench.{module}", str(size), str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    for row in measure_growth([int(word) for word in sys.argv[1:]]):
        sys.stdout.write(json.dumps(row) + "\n")
