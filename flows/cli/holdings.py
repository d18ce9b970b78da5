"""Records of the lake as the command line hands them to the engine: an environment with its scenarios, a rollout with both."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from uuid import uuid4

from envmill import __version__
from envmill.agents.rescore import Rescored
from envmill.errors import SettingsError
from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.lake.lineage import RecordInRun, find, read
from envmill.lake.sql import open_lake
from flows.cli.question import find_run
from flows.local.home import Home
from schemas.base import Json, Record
from schemas.environment import Environment, Test
from schemas.quality import Reverification
from schemas.rollout import Rollout
from schemas.scenario import Scenario

if TYPE_CHECKING:
    from envmill.interop.bundles.envrun.recording import Recording

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Playable:
    """An environment, the scenarios it can be played in, and states it can start from without one."""

    environment: Environment
    scenarios: list[Scenario]
    states: list[dict[str, Json]]


def find_playable(home: Home, name: str, run: str) -> tuple[Playable, str]:
    """What an id, a file, a bundle folder or a scenario's folder in it names, and the scenario that was meant; empty when an environment
    was."""
    if Path(name).is_dir():
        return _read_folder(Path(name))
    if Path(name).suffix == ".json":
        return Playable(_read_file(Path(name)), [], []), ""
    with open_lake(Lake(home.settings.lake)) as lake:
        found = find(lake, name, run)
        if found.table not in ("environments", "scenarios"):
            raise SettingsError(f"{found.id} is a row of {found.table}. Name an environment or a scenario.")
        chosen = read(lake, found)
        meant = found.id if found.table == "scenarios" else ""
        at = RecordInRun("environments", chosen["environment"], found.run, ()) if meant else found
        environment = as_record(Environment, read(lake, at))
        question = "select id from {} where run = ? and environment = ? order by id"
        scenarios = [key for (key,) in lake.execute(question.format("scenarios"), [found.run, environment.id]).fetchall()]
        tests = [key for (key,) in lake.execute(question.format("tests"), [found.run, environment.id]).fetchall()]
        states = [read(lake, RecordInRun("tests", key, found.run, ()))["initial_state"] for key in tests[:1]]
        held = [as_record(Scenario, read(lake, RecordInRun("scenarios", key, found.run, ()))) for key in scenarios]
        return Playable(environment, held, states), meant


def _read_folder(folder: Path) -> tuple[Playable, str]:
    """A bundle folder, or one of the folders below its `scenarios`, whose order is that of their names."""
    if folder.resolve().parent.name != "scenarios":
        return read_playable(folder), ""
    home = folder.resolve().parents[1]
    playable, names = read_playable(home), sorted(path.name for path in (home / "scenarios").iterdir() if path.is_dir())
    return playable, playable.scenarios[names.index(folder.resolve().name)].id


def read_playable(folder: Path) -> Playable:
    """What a bundle folder holds; its own start is the state of its first test, or the first that it names."""
    from flows.cli.folders import open_folder

    found = open_folder(folder)
    states = [*(test.initial_state for test in found.tests[:1]), *found.states.values()]
    return Playable(found.environment, list(found.scenarios), states)


def read_recorded(path: Path) -> "Recording":
    """What `mcp --record` wrote."""
    from envmill.interop.bundles.envrun.files import FolderError
    from envmill.interop.bundles.envrun.recording import read_recording

    try:
        return read_recording(path)
    except FolderError as error:
        raise SettingsError(str(error)) from None


def find_tests(home: Home, environment: str, run: str) -> list[Test]:
    """Stored tests of an environment, as the run that is meant holds them."""
    with open_lake(Lake(home.settings.lake)) as lake:
        held = find(lake, environment, run).run
        keys = lake.execute("select id from tests where run = ? and environment = ? order by id", [held, environment]).fetchall()
        return [as_record(Test, read(lake, RecordInRun("tests", key, held, ()))) for (key,) in keys]


def find_rollout(home: Home, name: str, run: str) -> tuple[Rollout, Scenario, Environment]:
    """A stored rollout and what it was played in."""
    with open_lake(Lake(home.settings.lake)) as lake:
        found = find(lake, name, run)
        if found.table != "rollouts":
            raise SettingsError(f"{found.id} is a row of {found.table}. Name a rollout; `envmill show SCENARIO` lists them.")
        rollout = as_record(Rollout, read(lake, found))
        scenario = as_record(Scenario, read(lake, RecordInRun("scenarios", rollout.scenario, found.run, ())))
        return rollout, scenario, as_record(Environment, read(lake, RecordInRun("environments", rollout.environment, found.run, ())))


def find_rollouts(home: Home, name: str, run: str) -> tuple[str, list[tuple[Rollout, Scenario, Environment]]]:
    """The run meant, and the rollout that is named or all of the run's, each with what it was played in."""
    lake = Lake(home.settings.lake)
    if name.startswith(f"{Rollout.prefix}_"):
        with open_lake(lake) as opened:
            meant = find(opened, name, run).run
        return meant, [find_rollout(home, name, meant)]
    meant = find_run(home, name)
    scenarios = {one.id: one for one in lake.read(Scenario, meant)}
    environments = {one.id: one for one in lake.read(Environment, meant)}
    rollouts = sorted(lake.read(Rollout, meant), key=lambda one: one.id)
    return meant, [(one, scenarios[one.scenario], environments[one.environment]) for one in rollouts]


def keep_verdicts(home: Home, run: str, judged: Sequence[Rescored]) -> None:
    """Verdicts of today as rows beside the run's own; one file, nothing of the run is touched."""
    now = datetime.now(UTC).isoformat()
    rows = [
        Reverification(
            subject=one.rollout.id,
            gate="verifier",
            outcome=one.verdict.outcome,
            reward=one.verdict.reward,
            reason=one.verdict.reason,
            judged_at=now,
            components=one.verdict.components,
            evidence=one.verdict.evidence,
            outcome_before=one.rollout.outcome,
            reward_before=one.rollout.reward,
            basis=one.basis,
        )
        for one in judged
    ]
    if rows:
        Lake(home.settings.lake).put(Reverification, rows, f"rescore-{uuid4().hex}", Stamp(run, "rescore", "", 0, 1, __version__, now))


def as_record(record: type[R], values: dict[str, Any]) -> R:
    """The record a row holds, without what the lake adds to it."""
    return record.model_validate({name: value for name, value in values.items() if name in record.model_fields})


def _read_file(path: Path) -> Environment:
    try:
        return as_record(Environment, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} holds no environment ({str(error)[:300]}). Write one with `envmill show ENV --json`.") from error


def read_state(path: Path) -> dict[str, Json]:
    """A state from a file."""
    try:
        state = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} holds no JSON ({error}).") from error
    if not isinstance(state, dict):
        raise SettingsError(f"{path} holds {type(state).__name__}; a state is an object of collections.")
    return state
