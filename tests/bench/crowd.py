"""The scheduler over stub work: buckets, leases, budget and rate as they are, and subjects that only
spend; `python -m tests.bench.crowd ITEMS FOLDER` prints what one process took.

ids ─► buckets of a step ─► lease ─► budget, rate ─► (no work) ─► batch in the lake ─► next bucket

The lake lies in FOLDER unless ENVMILL_LAKE says otherwise, and leases lie where ENVMILL_DATABASE says.
"""

import asyncio
import json
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from envmill.base.settings import Settings
from envmill.gates.base import keep
from envmill.lake.lake import Lake
from envmill.models.budget import Amount
from envmill.models.gateway import ModelSession
from envmill.models.limiter import Limiter
from envmill.pipeline.inputs import StepInputs
from envmill.pipeline.line import PipelineStep
from envmill.pipeline.runner import Runner, mark_steps
from envmill.stages.context import Result, RunContext, Subject, Subjects
from flows.opening import open_walk
from schemas.run import RunConfig

RUN = "crowd"
COST = Amount(0.0001, 1_000)
GATES = 8
"""Verdicts of each subject: so many rows of the ledger, and its outcome."""


async def simulate(items: int, folder: Path, surroundings: Mapping[str, str]) -> dict[str, Any]:
    """One step over so many subjects in this process."""
    places = {"ENVMILL_HOME": str(folder / "home"), "ENVMILL_LAKE": str(folder / "lake")}
    settings = Settings.read(places | {"ENVMILL_PORT": "0"} | dict(surroundings))
    config = RunConfig(environments=1, seed=1, budget_tokens=items * COST.tokens * 2)
    began, spent = time.monotonic(), time.process_time()
    async with open_walk(RUN, config, settings) as walk:
        step = make_stub(walk, items)
        walk.line = (step,)
        walk.marks = mark_steps(walk.context.config, walk.context.recipe, walk.line)
        await walk.walk((step,))
        outcomes = walk.lake.outcomes(RUN, walk.marks[step.name])
        assert len(outcomes) == items
    lake = Lake(settings.lake)
    return {
        "items": items,
        "seconds": time.monotonic() - began,
        "own": time.process_time() - spent,
        "peak": read_peak(),
        "files": len(lake.files("attrition", RUN)),
    }


def make_stub(walk: Runner, items: int) -> PipelineStep:
    """A step whose subjects cost a call and pass every gate."""
    door = walk.context.door
    limits, shares, budget = door.discipline.limits, door.discipline.shares, door.discipline.budget
    assert shares is not None
    assert budget is not None
    limiter = Limiter("stub/stub", limits, shares=shares)

    def enter(_: StepInputs) -> Subjects[object]:
        return Subjects([f"env_{number:020x}" for number in range(items)], make_subject)

    async def work(subject: Subject[object], _: RunContext, models: ModelSession) -> Result:
        del models
        hold = await budget.hold(COST)
        admission = await limiter.enter(COST.tokens, 600.0)
        await asyncio.sleep(0)
        limiter.answered(admission, COST.tokens)
        limiter.leave(admission)
        hold.settle(COST)
        return Result(findings=tuple(keep(f"W{number + 1}") for number in range(GATES)))

    return PipelineStep("environments", "verify", enter, work)


def make_subject(name: str) -> Subject[object]:
    return Subject(name, "seed", "theme", None)


def read_peak() -> float:
    """Of resident memory, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024


if __name__ == "__main__":
    told = {name: os.environ[name] for name in os.environ if name.startswith("ENVMILL_")}
    told.pop("ENVMILL_HOME", None)
    found = asyncio.run(simulate(int(sys.argv[1]), Path(sys.argv[2]), told))
    sys.stdout.write(json.dumps(found) + "\n")
