"""Records that an id or a folder names: an environment with its scenarios and tests, a rollout with
what it was played in.

folder ─► bundle ─┐
id ─► lake ───────┴─► Playable
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.interop.bundles import Folder
from envmill.lake.lake import Lake
from envmill.lake.lineage import WHOLE, RecordInRun, find, read
from envmill.lake.sql import open_lake
from schemas.base import Json, Record, is_object
from schemas.environment import Environment, Test
from schemas.rollout import Rollout
from schemas.scenario import Scenario

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Playable:
    """An environment, the scenarios it can be played in, and states it can start from without
    one."""

    environment: Environment
    scenarios: list[Scenario]
    states: list[dict[str, Json]]


def find_playable(settings: Settings, name: str, run: str) -> tuple[Playable, str]:
    """What an id or a file names, and the scenario that was meant; empty when an environment
    was."""
    if Path(name).suffix == ".json":
        return Playable(_read_file(Path(name)), [], []), ""
    with open_lake(Lake(settings.lake), question=WHOLE) as lake:
        found = find(lake, name, run)
        if found.table not in ("environments", "scenarios"):
            raise SettingsError(
                f"{found.id} is a row of {found.table}. Name an environment or a scenario."
            )
        chosen = read(lake, found)
        meant = found.id if found.table == "scenarios" else ""
        at = RecordInRun("environments", chosen["environment"], found.run, ()) if meant else found
        environment = as_record(Environment, read(lake, at))
        question = "select id from {} where run = ? and environment = ? order by id"
        scenarios = [
            key
            for (key,) in lake.execute(
                question.format("scenarios"), [found.run, environment.id]
            ).fetchall()
        ]
        tests = [
            key
            for (key,) in lake.execute(
                question.format("tests"), [found.run, environment.id]
            ).fetchall()
        ]
        states = [
            read(lake, RecordInRun("tests", key, found.run, ()))["initial_state"]
            for key in tests[:1]
        ]
        held = [
            as_record(Scenario, read(lake, RecordInRun("scenarios", key, found.run, ())))
            for key in scenarios
        ]
        return Playable(environment, held, states), meant


def as_playable(found: Folder) -> Playable:
    """A bundle folder that was read. Its own start is the state of its first test, or the first
    state that it names."""
    return Playable(
        found.environment,
        list(found.scenarios),
        [*(test.initial_state for test in found.tests[:1]), *found.states.values()],
    )


def find_tests(settings: Settings, environment: str, run: str) -> list[Test]:
    """Stored tests of an environment, as the run that is meant holds them."""
    with open_lake(Lake(settings.lake), question=WHOLE) as lake:
        held = find(lake, environment, run).run
        keys = lake.execute(
            "select id from tests where run = ? and environment = ? order by id",
            [held, environment],
        ).fetchall()
        return [as_record(Test, read(lake, RecordInRun("tests", key, held, ()))) for (key,) in keys]


def find_rollout(settings: Settings, name: str, run: str) -> tuple[Rollout, Scenario, Environment]:
    """A stored rollout and what it was played in."""
    with open_lake(Lake(settings.lake), question=WHOLE) as lake:
        found = find(lake, name, run)
        if found.table != "rollouts":
            raise SettingsError(
                f"{found.id} is a row of {found.table}. Name a rollout; `envmill show SCENARIO` "
                "lists them."
            )
        rollout = as_record(Rollout, read(lake, found))
        scenario = as_record(
            Scenario, read(lake, RecordInRun("scenarios", rollout.scenario, found.run, ()))
        )
        return (
            rollout,
            scenario,
            as_record(
                Environment,
                read(lake, RecordInRun("environments", rollout.environment, found.run, ())),
            ),
        )


def as_record(record: type[R], values: dict[str, Any]) -> R:
    """The record a row holds, without what the lake adds to it."""
    return record.model_validate(
        {name: value for name, value in values.items() if name in record.model_fields}
    )


def _read_file(path: Path) -> Environment:
    try:
        return as_record(Environment, json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} holds no environment ({str(error)[:300]}). Write one with `envmill show ENV "
            "--json`."
        ) from error


def read_state(path: Path) -> dict[str, Json]:
    """A state from a file."""
    try:
        state: Json = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise SettingsError(f"{path} holds no JSON ({error}).") from error
    if not is_object(state):
        raise SettingsError(
            f"{path} holds {type(state).__name__}; a state is an object of collections."
        )
    return state
