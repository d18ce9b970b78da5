"""A process that lost its lease publishes nothing: its successor's work stands."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import LeaseLost
from envmill.base.settings import Settings
from envmill.lake.coordination import HeldLease, ObjectDocuments, RemoteCoordinator
from envmill.lake.lake import Lake
from envmill.lake.stores import LocalStore
from envmill.pipeline.line import STEP, PipelineStep
from envmill.stages.context import Result
from flows.opening import open_walk
from schemas.environment import Blueprint
from schemas.ledger import Attrition
from schemas.run import RunConfig
from tests.lake.coordination.conftest import StandingClock, silence, space_looks
from tests.pipeline.test_runner import settings_in

GENERATE = STEP["environments-generate"]
CONFIG = RunConfig(environments=3, seed=1)


def coordinate(monkeypatch: pytest.MonkeyPatch, expiry: float) -> None:
    """Every home is a machine of its own: they share objects beside the lake."""

    def open_coordinator(settings: Settings) -> RemoteCoordinator:
        documents = ObjectDocuments(LocalStore(settings.lake))
        return RemoteCoordinator(documents, settings.home / "coordination", expiry)

    monkeypatch.setattr("envmill.pipeline.open_run.open_coordinator", open_coordinator)


def generate_as(name: str, begun: asyncio.Event, go_on: asyncio.Event) -> PipelineStep:
    """The step, whose blueprints say who made them; it waits in the middle of its work."""

    async def work(subject: Any, context: Any, models: Any) -> Result:
        made = await GENERATE.work(subject, context, models)
        begun.set()
        await go_on.wait()
        return Result(
            tuple(
                Blueprint.model_validate(row.model_dump(exclude={"id"}) | {"name": name})
                if isinstance(row, Blueprint)
                else row
                for row in made.records
            )
        )

    return replace(GENERATE, work=work)


async def never(lease: HeldLease) -> None:
    """A lease that is not looked at."""


@pytest.mark.parametrize(
    ("confirm", "author"),
    [(HeldLease.confirm, "successor"), (never, "zombie")],
    ids=["fenced", "without-the-fence"],
)
async def test_a_zombie_writes_nothing(
    confirm: Callable[[HeldLease], Any],
    author: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The second case shows what the fence is for: without it the zombie's rows are the run's, and
    what the successor made is lost."""
    monkeypatch.setattr(HeldLease, "confirm", confirm)
    coordinate(monkeypatch, expiry=3.0)
    lake = str(tmp_path / "lake")
    old, new = (replace(settings_in(tmp_path / name), lake=lake) for name in ("old", "new"))
    begun = {name: asyncio.Event() for name in ("zombie", "successor")}
    go_on = {name: asyncio.Event() for name in ("zombie", "successor")}
    async with open_walk("r1", CONFIG, old) as first, open_walk("r1", CONFIG, new) as second:
        zombie = asyncio.create_task(
            first.work(generate_as("zombie", begun["zombie"], go_on["zombie"]), 0)
        )
        await begun["zombie"].wait()
        silence(first.coordinator)
        space_looks(second.coordinator, StandingClock())
        successor = asyncio.create_task(
            second.work(generate_as("successor", begun["successor"], go_on["successor"]), 0)
        )
        await asyncio.wait_for(begun["successor"].wait(), 60)
        go_on["zombie"].set()
        (ended,) = await asyncio.gather(zombie, return_exceptions=True)
        assert isinstance(ended, LeaseLost) == (author == "successor")
        go_on["successor"].set()
        await asyncio.wait_for(successor, 60)
    blueprints, rows = Lake(lake).read(Blueprint, "r1"), Lake(lake).read(Attrition, "r1")
    assert {one.name for one in blueprints} == {author}
    assert len([row for row in rows if row.gate == "exit"]) == CONFIG.environments


async def test_what_an_earlier_holder_asked_is_not_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its bucket ended in an error, and its replies went to the lake all the same."""
    import offline as author
    from envmill.base.errors import EnvMillError, SettingsError

    coordinate(monkeypatch, expiry=60.0)
    lake, asked = str(tmp_path / "lake"), list[tuple[str, str]]()

    async def fail(subject: Any, context: Any, models: Any) -> Result:
        await GENERATE.work(subject, context, models)
        raise SettingsError("it was set wrongly here")

    def answer_for(name: str) -> Any:
        def answer(prompt: str, *more: Any, **named: Any) -> str:
            asked.append((name, prompt))
            return author.answer(prompt, *more, **named)

        return answer

    settings = [replace(settings_in(tmp_path / name), lake=lake) for name in ("one", "two")]
    async with (
        open_walk("r1", CONFIG, settings[0], answer_for("one")) as first,
        open_walk("r1", CONFIG, settings[1], answer_for("two")) as second,
    ):
        with pytest.raises(EnvMillError, match="it was set wrongly here"):
            await first.work(replace(GENERATE, work=fail), 0)
        await second.work(GENERATE, 0)
    assert {name for name, _ in asked} == {"one"}
    assert len(Lake(lake).read(Blueprint, "r1")) == CONFIG.environments
