"""Opening a run: the config it keeps, what it already knows, and the means to go on."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

from envmill import author
from envmill.errors import SettingsError
from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.journal import Journal, read_calls, seal
from envmill.lake.lake import Lake
from envmill.lake.stores import open_store
from envmill.mill import Mill
from envmill.models.base import Provider
from envmill.models.door import Door
from envmill.models.offline import Author, Offline
from envmill.models.replay import Replay
from envmill.recipes import RECIPES
from envmill.sandbox import Sandbox
from envmill.settings import Settings
from envmill.walk import Walk
from schemas.ledger import ModelCall
from schemas.run import RunConfig


@asynccontextmanager
async def open_walk(run: str, config: RunConfig, settings: Settings, answer: Author = author.answer) -> AsyncGenerator[Walk]:
    """Everything one process needs to work on a run. A run keeps the config it started with, whatever is asked later."""
    lake = Lake(open_store(settings.lake))
    _check_recording(config, lake)
    config = RunConfig.model_validate(lake.fix(run, "config", config.model_dump(mode="json")))
    note(lake, run, "started", config.model_dump(mode="json"))
    folder = settings.home / "journal" / run
    seal(folder, lake, _seal_stamp(run))
    journalled = list(read_calls(folder))  # before the lake: a journal sealed between the two is then seen twice, never missed
    known = {(call.request, call.sample): call for call in (*lake.read(ModelCall, run), *journalled) if _answers(call)}
    provider, journal = _open_provider(config, settings, lake, answer), Journal(folder)
    try:
        async with Sandbox.open(settings) as sandbox:
            door = Door(provider, journal, known, config.seed or 0)
            recipe = RECIPES[config.recipe](author.themes())
            yield Walk(Mill(run, config, settings, recipe, door, sandbox), lake)
    finally:
        await provider.close()
        await journal.close()
        seal(folder, lake, _seal_stamp(run))


def _open_provider(config: RunConfig, settings: Settings, lake: Lake, answer: Author) -> Provider:
    if config.provider == "offline":
        return Offline(answer, config.mistakes, settings.author_url)
    journals = settings.home / "journal" / config.recording
    return Replay([*lake.read(ModelCall, config.recording), *read_calls(journals)])


def _check_recording(config: RunConfig, lake: Lake) -> None:
    """Before anything is fixed: a run that cannot start must not take its id along."""
    if config.provider == "replay" and config.recording not in lake.runs():
        raise SettingsError(f"There is no run {config.recording!r} to replay. Set `recording` to one of the runs in {lake.url}.")


def _answers(call: ModelCall) -> bool:
    return call.outcome != "outage" and not call.reused


def _seal_stamp(run: str) -> Stamp:
    return Stamp(run, "", "", 0, 1, "", datetime.now(UTC).isoformat())
