"""The errands of an environment are planned once, whichever processes write its scenarios."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import offline as author
from envmill.pipeline.calls import RunCalls
from envmill.pipeline.line import STEP
from flows.opening import open_walk
from schemas.run import RunConfig
from tests.pipeline.test_fencing import coordinate
from tests.pipeline.test_runner import settings_in

STEP_OF_PLANS = STEP["scenarios-generate"]
CONFIG = RunConfig(environments=1, scenarios=4, attempts=1, search=0, rehearse=False, seed=1)


@asynccontextmanager
async def apart(*_: Any) -> AsyncGenerator[None]:
    """Without a look at what others ask."""
    yield


@pytest.mark.long
@pytest.mark.parametrize(
    ("homes", "together", "times"),
    [
        pytest.param(("one", "two"), True, 1, id="two-machines"),
        pytest.param(("one", "one"), True, 1, id="one-home"),
        pytest.param(("one", "two"), False, 2, id="each-for-itself"),
    ],
)
async def test_two_processes_ask_for_a_plan_once(
    homes: tuple[str, str],
    together: bool,
    times: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A real model answers twice in two ways: scenarios of one environment would be of two plans."""
    if not together:
        monkeypatch.setattr(RunCalls, "alone", apart)
    if homes[0] != homes[1]:
        coordinate(monkeypatch, expiry=60.0)
    lake, plans = str(tmp_path / "lake"), list[str]()

    def answer(prompt: str, *question: Any) -> str:
        if prompt == "errands":
            plans.append(prompt)
        return author.answer(prompt, *question)

    one, two = (replace(settings_in(tmp_path / home), lake=lake) for home in homes)
    async with open_walk("r1", CONFIG, one, answer) as first:
        await first.walk(first.line[: first.line.index(STEP_OF_PLANS)])
        async with open_walk("r1", CONFIG, two, answer) as second:
            first.lake.fix("r1", STEP_OF_PLANS.name, {"buckets": 2})
            stripes = await first.plan(STEP_OF_PLANS)
            walks = zip((first, second), stripes, strict=True)
            await asyncio.gather(*(walk.work(STEP_OF_PLANS, stripe) for walk, stripe in walks))
    assert len(plans) == times
