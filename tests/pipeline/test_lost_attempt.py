"""Two machines at one bucket: each subject's rows are those of one of them, whoever is slower."""

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP, STEPS
from envmill.stages.context import Result
from flows.opening import open_walk
from schemas.environment import Blueprint
from schemas.ledger import Attrition
from schemas.run import RunConfig
from tests.pipeline.test_runner import settings_in

GENERATE = STEP["environments-generate"]


@pytest.mark.parametrize("share", [1.0, 0.5], ids=["it-saved-everything", "it-saved-half"])
async def test_who_was_taken_for_dead_saves_what_the_other_did_not(
    settings: Settings, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    config, real, raced = RunConfig(environments=4, seed=1), Lake.commit, [True]

    def commit(lake: Lake, batch: Any, rows: Any, attrition: list[Attrition], stamp: Any) -> bool:
        if raced and raced.pop():
            theirs = replace(stamp, try_number=2)
            other = lake.attempts.claim(theirs, [])
            assert lake.attempts.void("r1", batch)
            won = [
                row.model_dump(exclude={"id"}) | {"try_number": 2}
                for row in attrition[: round(len(attrition) * share)]
            ]
            assert real(lake, other, {}, [Attrition.model_validate(row) for row in won], theirs)  # pyright: ignore[reportArgumentType]
        return real(lake, batch, rows, attrition, stamp)

    monkeypatch.setattr(Lake, "commit", commit)
    async with open_walk("r1", config, settings) as walk:
        await walk.walk(STEPS[:1])
        saved, blueprints = walk.lake.read(Attrition, "r1"), walk.lake.read(Blueprint, "r1")
    assert len({row.subject for row in saved}) == len(saved) == 4
    assert sorted(row.try_number for row in saved) == ([2] * 4 if share == 1.0 else [2, 2, 3, 3])
    assert len(blueprints) == (0 if share == 1.0 else 2)


def test_two_machines_that_save_one_bucket_at_once_leave_one_set_of_rows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Leases are of one machine: with a home of its own each works on everything, and makes other
    rows of the same seeds."""
    real, start, lake = Lake.put, threading.Barrier(2), str(tmp_path / "lake")

    def put(self: Lake, record: Any, *arguments: Any) -> bool:
        time.sleep(
            0.3 if record is Attrition else 0
        )  # the other machine numbers its attempt meanwhile
        return real(self, record, *arguments)

    def generate(name: str) -> None:
        async def work(subject: Any, context: Any, models: Any) -> Result:
            made = await GENERATE.work(subject, context, models)
            return Result(
                tuple(
                    _rename(row, name) if isinstance(row, Blueprint) else row
                    for row in made.records
                )
            )

        async def walk() -> None:
            settings = replace(settings_in(tmp_path / name), lake=lake)
            async with open_walk("r1", RunConfig(environments=6, seed=1), settings) as opened:
                start.wait()
                await asyncio.sleep(0.15 if name == "two" else 0)
                await opened.work(replace(GENERATE, work=work), 0)

        asyncio.run(walk())

    monkeypatch.setattr(Lake, "put", put)
    with ThreadPoolExecutor(2) as machines:
        list(machines.map(generate, ("one", "two")))
    exits = [row for row in Lake(lake).read(Attrition, "r1") if row.gate == "exit"]
    blueprints = Lake(lake).read(Blueprint, "r1")
    assert (len(exits), len(blueprints), len({one.name for one in blueprints})) == (6, 6, 1)


def _rename(row: Blueprint, name: str) -> Blueprint:
    return Blueprint.model_validate(row.model_dump(exclude={"id"}) | {"name": name})
