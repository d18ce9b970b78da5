"""What server, worker and watchdog take of a core while nothing happens."""

import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.e2e.plant import Plant

SETTLE = 60.0
"""Seconds after `envmill up`: polls are held only once nothing has changed for half a minute."""
SPAN = 300.0
PARTS = ("server", "worker", "watchdog")


def rows() -> Iterator[dict[str, Any]]:
    """Processor time by the kernel's own account, so that a busy machine changes it little."""
    with tempfile.TemporaryDirectory() as place:
        plant = Plant.at(Path(place) / "plant")
        try:
            plant.envmill("up")
            time.sleep(SETTLE)
            shares = measure(plant, SPAN)
        finally:
            plant.envmill("down")
    told = ", ".join(f"{name} {share:.2f}" for name, share in shares.items())
    yield {
        "id": "percent",
        "what": f"server, worker and watchdog over {SPAN:.0f} s with nothing to do: {told}",
        "measured": sum(shares.values()),
        "unit": "% of a core",
    }


def measure(plant: Plant, seconds: float) -> dict[str, float]:
    """Percent of a core, by process."""
    pids = {name: plant.record(name).pid for name in PARTS}
    before, began = {name: read_ticks(pid) for name, pid in pids.items()}, time.monotonic()
    time.sleep(seconds)
    span = (time.monotonic() - began) * os.sysconf("SC_CLK_TCK")
    return {name: 100 * (read_ticks(pid) - before[name]) / span for name, pid in pids.items()}


def read_ticks(pid: int) -> int:
    """Its own and those of children that have ended, in the kernel and outside."""
    return sum(map(int, Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11:15]))
