"""What the door costs: calls a second and CPU a call beside the bare SDK, and the plain way of one
client a call in three threads.

Each side is a process of its own, the vendors are a third; sides take turns, so that a busy machine
is busy for both.
"""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from envmill.base.settings import ROOT
from tests.models.vendors.launch import Loopback, launch

LATENCY, ROUNDS, CALLS, THREADED = 0.2, 3, 768, 30
"""Seconds the vendor thinks; medians of so many rounds; calls of one measurement; of the threaded
way."""


@dataclass(frozen=True)
class Side:
    """One way to ask, measured."""

    rate: float
    """Calls a second."""
    cpu: float
    """CPU milliseconds a call."""


def rows() -> Iterator[dict[str, Any]]:
    """Both vendors at 64 in flight, one at 256, and the threaded way."""
    with launch() as vendors:
        vendors.set(latency=LATENCY)
        vendors.say('{"length": 3, "note": "as long as the word is"}')
        first = _rate_and_cpu(vendors, "openai", 64)
        rate = first[0]["measured"]
        yield from first
        yield _row(
            "reference", "openai calls through the door, 64 in flight", rate, None, "calls/s"
        )
        yield from _rate_and_cpu(vendors, "anthropic", 64)
        bare, door = _take_turns(vendors, "openai", 256)
        yield _row(
            "crowd",
            "model calls, 256 in flight, beside the bare SDK with 256",
            door.rate,
            bare.rate,
            "calls/s",
        )
        threads = _measure(vendors, "threads", "openai", 3, THREADED)
        yield _row(
            "threads",
            "one client a call in 3 threads, beside the door with 64",
            threads.rate,
            rate,
            "calls/s",
        )


def _rate_and_cpu(vendors: Loopback, vendor: str, in_flight: int) -> list[dict[str, Any]]:
    bare, door = _take_turns(vendors, vendor, in_flight)
    said = f"{in_flight} in flight, ledger and validation included, beside the bare SDK"
    return [
        _row(
            f"{vendor}_rate",
            f"{vendor} calls at {LATENCY * 1000:.0f} ms, {said}",
            door.rate,
            bare.rate,
            "calls/s",
        ),
        _row(f"{vendor}_cpu", f"CPU of a {vendor} call, {said}", door.cpu, bare.cpu, "ms"),
    ]


def _take_turns(vendors: Loopback, vendor: str, in_flight: int) -> tuple[Side, Side]:
    """Bare, door, bare, door …: medians of each."""
    sides: dict[str, list[Side]] = {"bare": [], "door": []}
    for _ in range(ROUNDS):
        for way, found in sides.items():
            found.append(_measure(vendors, way, vendor, in_flight, CALLS))
    return _middle(sides["bare"]), _middle(sides["door"])


def _middle(sides: list[Side]) -> Side:
    return Side(
        statistics.median(side.rate for side in sides),
        statistics.median(side.cpu for side in sides),
    )


def _measure(vendors: Loopback, way: str, vendor: str, in_flight: int, calls: int) -> Side:
    command = [
        sys.executable,
        "-m",
        "tests.bench.asking",
        way,
        vendor,
        vendors.root,
        str(in_flight),
        str(calls),
    ]
    found = subprocess.run(
        command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True, timeout=300
    )
    return Side(**json.loads(found.stdout))


def _row(
    name: str, what: str, measured: float, baseline: float | None, unit: str
) -> dict[str, Any]:
    return {"id": name, "what": what, "measured": measured, "baseline": baseline, "unit": unit}
