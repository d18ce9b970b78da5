"""What the line takes: how busy it keeps a model, and 240 scenarios from verify to collect, with
one process for each core."""

import asyncio
import os
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP, STEPS, PipelineStep
from flows.opening import open_walk
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.bench.flight import count_busy, measure_flight
from tests.bench.playing import measure_attempts

SCENARIOS, ENVIRONMENTS = 240, 20
"""Enough for a steady share of busy cores; a thousand took more than eleven minutes on two
cores."""

_RUN = "bench"


def rows() -> Iterator[dict[str, Any]]:
    """Functions of their own, so that each can be asked for alone. The longest comes last."""
    yield from measure_flight()
    yield from measure_attempts()
    yield from measure_scenarios()


def measure_scenarios(
    scenarios: int = SCENARIOS, environments: int = ENVIRONMENTS
) -> Iterator[dict[str, Any]]:
    """Verify, filter and collect of scenarios that were built before, on a machine that does
    nothing else.

    The machine's own count of busy time: of a jailed process that outlives who forked it, no parent
    is ever told what it took.
    """
    config = RunConfig(
        environments=environments,
        scenarios=scenarios // environments,
        seed=1,
        mistakes=0.0,
        attempts=8,
    )
    with tempfile.TemporaryDirectory() as folder:
        settings = _settle(Path(folder))
        first = STEPS.index(STEP["scenarios-verify"])
        asyncio.run(_walk(settings, config, STEPS[:first]))
        before, spent_before, began = time.process_time(), count_busy(), time.monotonic()
        asyncio.run(_walk(settings, config, STEPS[first : first + 3]))
        own, spent, wall = (
            time.process_time() - before,
            count_busy() - spent_before,
            time.monotonic() - began,
        )
        entered = len(Lake(settings.lake).read(Scenario, _RUN))
    what = (
        f"{entered} scenarios from verify to collect, eight probes at most, on {os.cpu_count()} "
        "cores"
    )
    yield {
        "id": "scenarios_cpu",
        "what": f"processor time of {what}",
        "measured": spent,
        "unit": "s",
    }
    yield {
        "id": "own_share",
        "what": f"share of the process that walks in it, which has one core at most, with {what}",
        "measured": own / spent,
    }
    yield {"id": "scenarios", "what": f"the clock's time of {what}", "measured": wall, "unit": "s"}
    yield {
        "id": "busy",
        "what": f"cores busy with {what}",
        "measured": spent / wall,
        "baseline": float(os.cpu_count() or 1),
        "unit": "cores",
    }


async def _walk(settings: Settings, config: RunConfig, steps: tuple[PipelineStep, ...]) -> None:
    async with open_walk(_RUN, config, settings) as walk:
        await walk.walk(steps)


def _settle(folder: Path) -> Settings:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    return Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )
