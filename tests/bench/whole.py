"""Long paths through the whole line: a run from seed to export; `python -m tests.bench.whole RECIPE
CALLS` prints what it kept and took.

embedded author ─► one environment, two scenarios that achieve something ─► every step of the line ─► lengths kept, drops, seconds
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEPS
from flows.opening import open_walk
from schemas.ledger import Attrition
from schemas.rollout import Bundle, Rollout
from schemas.run import RunConfig
from schemas.scenario import Scenario
from tests.trust.costs import read_children

SCENARIOS = 2
_RUN = "bench"


async def measure_run(config: RunConfig) -> dict[str, Any]:
    """Processor seconds of each step, the jail's included, and what is in the lake afterwards."""
    seconds: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
        settings = Settings.read(
            {key: str(Path(folder) / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
        )
        clock = time.monotonic()
        async with open_walk(_RUN, config, settings) as walk:
            for step in STEPS:
                began = time.process_time() + read_children()
                await walk.walk([step])
                seconds[step.name] = round(time.process_time() + read_children() - began, 2)
        clock = time.monotonic() - clock
        lake = Lake(settings.lake)
        suspected = [
            f"{row.gate} {row.reason}"
            for row in lake.read(Attrition, _RUN)
            if row.outcome == "suspected"
        ]
        dropped = {
            row.subject: f"{row.gate} {row.reason}"
            for row in lake.read(Attrition, _RUN)
            if row.outcome == "dropped"
        }
        kept = [one for one in lake.read(Scenario, _RUN) if one.id not in dropped]
        rollouts = Counter(rollout.outcome for rollout in lake.read(Rollout, _RUN))
        exported = sum(bundle.rows for bundle in lake.read(Bundle, _RUN))
    return {
        "recipe": config.recipe,
        "calls": config.calls,
        "kept": sorted(len(one.oracle) for one in kept),
        "dropped": dict(Counter(dropped.values())),
        "suspected": dict(Counter(suspected)),
        "rollouts": dict(rollouts),
        "exported": exported,
        "clock": round(clock, 1),
        "processor": round(sum(seconds.values()), 1),
        "steps": seconds,
    }


def main() -> None:
    """One line of JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.whole")
    parser.add_argument("recipe")
    parser.add_argument("calls", type=int)
    parser.add_argument("--visible", type=int)
    asked = parser.parse_args()
    length: dict[str, Any] = {
        "calls": asked.calls,
        "steps": asked.calls * 3 // 2,
        "visible": asked.visible,
    }
    sizes: dict[str, Any] = {
        "environments": 1,
        "scenarios": SCENARIOS,
        "polarities": {"achieve": 1},
    }
    config = RunConfig(recipe=asked.recipe, seed=1, mistakes=0.0, **sizes, **length)
    sys.stdout.write(json.dumps(asyncio.run(measure_run(config))) + "\n")


if __name__ == "__main__":
    main()
