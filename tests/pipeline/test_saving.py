"""While a bucket is saved to a store across a network, models are asked and answered."""

import asyncio
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.lake.lake import Lake
from envmill.lake.stores import LocalStore
from envmill.pipeline.line import STEP
from envmill.stages.context import Result
from flows.opening import open_walk
from schemas.ledger import Attrition
from schemas.run import RunConfig
from tests.pipeline.test_runner import settings_in

GENERATE = STEP["environments-generate"]
CONFIG = RunConfig(environments=8, seed=1)
PATIENCE = 10.0


class Stalled(LocalStore):
    """A commit takes until a model has answered, or patience is over."""

    at_once = 4

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.saving, self.answered = threading.Event(), threading.Event()
        self.commits: list[bool] = []

    def put_if_absent(self, name: str, content: bytes) -> bool:
        if name.startswith("attrition/"):
            self.saving.set()
            self.commits.append(self.answered.wait(PATIENCE))
        return super().put_if_absent(name, content)


async def test_a_model_is_answered_while_a_bucket_is_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_in(tmp_path)
    store = Stalled(settings.lake)

    def open_store(place: str) -> Stalled:
        assert place == settings.lake
        return store

    monkeypatch.setattr("envmill.pipeline.open_run.open_store", open_store)
    async with open_walk("r1", CONFIG, settings) as walk:
        walk.lake.fix("r1", GENERATE.name, {"buckets": 2})

        async def wait_and_ask(subject: Any, context: Any, models: Any) -> Result:
            while not store.saving.is_set():
                await asyncio.sleep(0.01)
            made = await GENERATE.work(subject, context, models)
            store.answered.set()
            return made

        assert await walk.plan(GENERATE) == [0, 1]
        later = replace(GENERATE, work=wait_and_ask)
        await asyncio.gather(walk.work(GENERATE, 0), walk.work(later, 1))
    assert store.commits == [True, True]
    rows = Lake(settings.lake).read(Attrition, "r1")
    assert sum(row.gate == "exit" for row in rows) == CONFIG.environments
