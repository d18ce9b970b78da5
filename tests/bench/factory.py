"""The demo's run through Prefect, beside the same line walked bare: a server brought up, the run,
and what resuming it takes.

bring up ─► run ─► (first task's start to the last stage's end) ─► resume ─► down;   then the same line, and its promises, in this process
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from envmill.pipeline.line import STEPS
from flows.cli.demo import SIZE
from flows.opening import open_walk
from schemas.run import RunConfig
from tasks.quality import hold_to_promises
from tests.e2e.plant import Plant

_SEED = 20261122


def measure_factory(size: dict[str, int] = SIZE) -> Iterator[dict[str, Any]]:
    """Each in a home of its own."""
    what = "demo of {environments} environments × {scenarios} × {attempts}".format(**size)
    with tempfile.TemporaryDirectory() as place:
        plant = Plant.at(Path(place) / "plant")
        try:
            yield {
                "id": "up",
                "what": "server, worker, watchdog and deployments up",
                "measured": _time(plant, "up"),
                "unit": "s",
            }
            yield from _measure_run(plant, size, what, _walk_bare(Path(place) / "bare", size))
        finally:
            plant.envmill("down")


def _measure_run(
    plant: Plant, size: dict[str, int], what: str, bare: float
) -> Iterator[dict[str, Any]]:
    whole = _time(
        plant, "run", f"--seed={_SEED}", *(f"--{name}={value}" for name, value in size.items())
    )
    ((run,),) = plant.ask("select run from runs")
    yield {
        "id": "demo",
        "what": f"{what}, from the order to the end, after the server is up",
        "measured": whole,
        "unit": "s",
    }
    yield {
        "id": "through_prefect",
        "what": f"{what}, first task's start to the last step's end, beside the line and its "
        "promises bare",
        "measured": _span(plant, run),
        "baseline": bare,
        "unit": "s",
    }
    yield {
        "id": "report",
        "what": f"report of the {what}, every turn",
        "measured": _time(plant, "report", run),
        "unit": "s",
    }
    yield {
        "id": "resume",
        "what": f"resuming the finished {what}",
        "measured": _time(plant, "run", f"--resume={run}"),
        "unit": "s",
    }


def _time(plant: Plant, *words: str) -> float:
    start = time.perf_counter()
    plant.envmill(*words)
    return time.perf_counter() - start


def _span(plant: Plant, run: str) -> float:
    """Of the tasks of steps; what holds the whole run to its promises comes after them, and imports
    for seconds."""
    with plant.api() as api:
        tasks = api.post("/task_runs/filter", {"flow_runs": {"id": {"any_": [run]}}, "limit": 200})
    times = [
        (task["start_time"], task["end_time"]) for task in tasks if task["name"] != "quality-of-run"
    ]
    return (
        _read(max(end for _, end in times)) - _read(min(start for start, _ in times))
    ).total_seconds()


def _read(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _walk_bare(folder: Path, size: dict[str, int]) -> float:
    settings = Plant.at(folder).home.settings

    async def walk_all() -> float:
        async with open_walk(
            "bare", RunConfig.model_validate({"seed": _SEED, **size}), settings
        ) as walk:
            start = time.perf_counter()
            for step in STEPS:
                await walk.walk((step,))
                await hold_to_promises(
                    walk, [step.name], {"attrition", "gate_evidence", *step.makes}
                )
            return time.perf_counter() - start

    return asyncio.run(walk_all())
