"""What a night takes: unit costs of one run that is made here, multiplied.

`python -m tests.bench.plan --hours 8 --call-seconds 20 --price-in 1 --price-out 5` prints a table for 10 k, 100 k and 1 M scenarios.
Prices (for a million tokens) and seconds of a call are yours; everything else is measured with the embedded author.

one run ─► per scenario: calls, characters, processor seconds of flow and jails, bytes, rows ─► times scenarios, over the hours
"""

import argparse
import asyncio
import json
import math
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from envmill.base.settings import ROOT, Settings
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.pipeline.line import STEPS
from flows.opening import open_walk
from schemas.run import RunConfig
from tests.bench.crowd import read_peak
from tests.trust.costs import read_children

RUN = "plan"
NIGHTS = (10_000, 100_000, 1_000_000)
_CHARACTERS = 4.0
"""Of a token, where no tokenizer is asked."""
_BUSY = 0.7
"""Share of a core's time that is planned for."""
_IN_FLIGHT = 64
"""Calls that a process has in flight at once, as `ENVMILL_IN_FLIGHT` sets it."""
_RUN_SCENARIOS = 5_000
_TASKS = 40
"""Rows of task runs in the server, of a step of a run."""


@dataclass(frozen=True)
class UnitCosts:
    """Of one scenario that entered the scenario lap, its share of its environment included."""

    calls: float
    sent: float
    """Characters sent to models."""
    got: float
    """Characters of their replies."""
    own: float
    """Processor seconds of the flow process."""
    jails: float
    """Processor seconds of its children: jails and gate workers."""
    rows: float
    """Rows of attrition."""
    files: float
    """Files of the lake before compaction."""
    bytes: float
    """Of the lake after compaction, replaced files removed."""
    peak: float
    """MB of the flow process, of the whole run."""
    kept: float
    """Scenarios that the filter kept, of one that entered."""


@dataclass(frozen=True)
class Night:
    """What is the user's: hours, prices of a million tokens, and seconds of a call."""

    hours: float = 8.0
    call_seconds: float = 20.0
    price_in: float = 0.0
    price_out: float = 0.0


def plan(units: UnitCosts, scenarios: int, night: Night) -> dict[str, float]:
    """What so many scenarios in a night take."""
    seconds = night.hours * 3600
    calls = scenarios * units.calls
    tokens_in = scenarios * units.sent / _CHARACTERS
    tokens_out = scenarios * units.got / _CHARACTERS
    in_flight = calls / seconds * night.call_seconds
    runs = math.ceil(scenarios / _RUN_SCENARIOS)
    return {
        "scenarios": scenarios,
        "calls": calls,
        "calls in flight": in_flight,
        "tokens in, millions": tokens_in / 1e6,
        "tokens out, millions": tokens_out / 1e6,
        "money": (tokens_in * night.price_in + tokens_out * night.price_out) / 1e6,
        "cores for jails": scenarios * units.jails / seconds / _BUSY,
        "flow processes": max(
            math.ceil(scenarios * units.own / seconds / _BUSY),
            math.ceil(in_flight / _IN_FLIGHT),
        ),
        "runs": runs,
        "attrition rows": scenarios * units.rows,
        "lake, GB": scenarios * units.bytes / 1e9,
        "server rows of task runs": runs * len(STEPS) * _TASKS,
    }


async def measure(environments: int, scenarios: int, folder: Path) -> UnitCosts:
    """One run, its jails included."""
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )
    config = RunConfig(environments=environments, scenarios=scenarios, seed=1)
    own, children = time.process_time(), read_children()
    async with open_walk(RUN, config, settings) as walk:
        await walk.walk()
        own, children = time.process_time() - own, read_children() - children
    lake = Lake(settings.lake)
    note(lake, RUN, "finished", {})
    files = sum(len(entries) for entries in lake.snapshot(RUN).files.values())
    for _ in range(2):
        compact(lake, RUN, now=time.time() + 9999, grace=0.0)
    size = sum(path.stat().st_size for path in (folder / "lake").rglob("*") if path.is_file())
    ((calls, sent, got),) = fetch(
        lake,
        "select count(*), sum(characters), sum(length(reply) + length(reasoning)) from model_calls where not reused",
    )
    ((rows, entered, kept),) = fetch(
        lake,
        """select count(*), count(*) filter (step = 'scenarios-generate' and gate = 'exit'),
                  count(*) filter (step = 'scenarios-filter' and gate = 'exit' and outcome = 'kept') from attrition""",
    )
    totals = (calls, sent, got, own, children, rows, files, size)
    return UnitCosts(*(total / entered for total in totals), peak=read_peak(), kept=kept / entered)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.plan", description=__doc__)
    parser.add_argument("--environments", type=int, default=6)
    parser.add_argument("--scenarios", type=int, default=5, help="of each environment")
    for name, value in asdict(Night()).items():
        parser.add_argument(f"--{name.replace('_', '-')}", type=float, default=value)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        units = asyncio.run(measure(asked.environments, asked.scenarios, Path(folder)))
    sys.stdout.write(json.dumps(asdict(units)) + "\n")
    night = Night(asked.hours, asked.call_seconds, asked.price_in, asked.price_out)
    planned = [plan(units, scenarios, night) for scenarios in NIGHTS]
    for name in planned[0]:
        cells = " | ".join(
            f"{one[name]:,.4g}" if one[name] < 100 else f"{one[name]:,.0f}" for one in planned
        )
        sys.stdout.write(f"| {name} | {cells} |\n")


if __name__ == "__main__":
    main()
