"""Growth of a run: memory and processor time of one process at several numbers of scenarios, each in a process of its own."""

import json
import math
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from envmill.settings import ROOT

SIZES = (80, 320)
"""Scenarios of the runs that `make bench` measures; `make soak AREA=scale` goes further."""


def rows() -> Iterator[dict[str, Any]]:
    """The largest of the runs beside the smallest, and how time grows between them."""
    yield from measure_growth(SIZES)


def measure_growth(sizes: Sequence[int]) -> Iterator[dict[str, Any]]:
    """Attempts and verdicts of gates are written and not played."""
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        found = {size: run_alone(size, Path(folder) / str(size)) for size in sizes}
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


def run_alone(scenarios: int, folder: Path) -> dict[str, Any]:
    """One run in a process of its own, whose memory is measured."""
    command = [sys.executable, "-m", "tests.bench.growth", str(scenarios), str(folder)]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, check=True, text=True)
    return json.loads(done.stdout)


if __name__ == "__main__":
    for row in measure_growth([int(word) for word in sys.argv[1:]]):
        sys.stdout.write(json.dumps(row) + "\n")
