"""A lake of an older version: it is asked, audited and exported; its unfinished run is refused with
the command that begins a new one.

`tests/lake/older/405286e.tar.xz` was made by that version: a finished run of each of two recipes, and one that stopped after the
environments.
"""

import asyncio
import shlex
from pathlib import Path

import pytest
from pydantic import ValidationError
from typer.testing import CliRunner, Result

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.base.version import __version__
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.lake.views import VIEWS, open_views
from envmill.pipeline.finished import is_finished
from envmill.pipeline.version import LINE, check_version, claim_version, render_order
from flows.cli import make_app
from flows.local.home import Home
from flows.opening import open_walk
from flows.rounds import fill_in
from schemas.run import RunConfig
from schemas.tables import TABLES
from tests.archives import unpack

OLD = ROOT / "tests/lake/older/405286e.tar.xz"


@pytest.fixture(scope="module")
def surroundings(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    folder = tmp_path_factory.mktemp("older")
    unpack(OLD, folder)
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    return {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}


def say(surroundings: dict[str, str], *words: str) -> Result:
    return CliRunner(env=surroundings).invoke(make_app(words), list(words))


def test_every_table_and_view_is_read(surroundings: dict[str, str]) -> None:
    views = open_views(Lake(surroundings["ENVMILL_LAKE"]))
    counts = {
        name: views.execute(f"select count(*) from {name}").fetchall()[0][0]
        for name in (*TABLES, *VIEWS)
    }
    assert counts["scenarios"] > 0
    assert counts["trajectories"] > 0
    assert counts["yield"] > 0
    assert {run for (run,) in views.execute("select run from runs").fetchall()} == {
        "old-stateful",
        "old-sql",
        "old-unfinished",
    }


@pytest.mark.parametrize("run", ["old-stateful", "old-sql"])
def test_a_finished_run_is_exported(run: str, surroundings: dict[str, str], tmp_path: Path) -> None:
    done = say(
        surroundings,
        "export",
        run,
        "--provisional",
        "--with",
        "suspected",
        "--out",
        str(tmp_path / "out"),
    )
    assert done.exit_code == 0, (done.stderr, done.exception)
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {
        "sft",
        "rl",
        "dataset",
        "bundle",
    }


def test_an_unfinished_run_is_refused_with_the_command_for_a_new_one(
    surroundings: dict[str, str],
) -> None:
    refused = say(surroundings, "run", "--resume", "old-unfinished")
    assert isinstance(refused.exception, SettingsError)
    told = str(refused.exception)
    assert f"begun by an older version, and this is {__version__}" in told
    command = shlex.split(told.split("Start a new one: ")[1])
    assert command[:2] == ["envmill", "run"]
    planned = say(surroundings, "run", "--dry-run", *command[2:])
    assert planned.exit_code == 0, (planned.stderr, planned.exception)
    assert "scenarios = 2" in planned.stderr


def test_a_retry_in_the_ui_is_refused_too(surroundings: dict[str, str]) -> None:
    async def go_on() -> None:
        async with open_walk(
            "old-unfinished", RunConfig(run="old-unfinished"), Home.read(surroundings).settings
        ):
            raise AssertionError("it was opened")

    with pytest.raises(SettingsError, match="Start a new one"):
        asyncio.run(go_on())


def test_a_run_of_this_version_goes_on(tmp_path: Path) -> None:
    lake = Lake(str(tmp_path))
    claim_version("r", lake)
    lake.fix("r", "config", RunConfig().model_dump(mode="json"))
    claim_version("r", lake)
    lake.fix("s", "version", {"line": f"{LINE}1"})
    with pytest.raises(SettingsError, match=f"version {LINE}1"):
        check_version("s", lake)


def test_an_order_is_rendered_as_it_is_typed() -> None:
    config = {
        "recipe": "awm",
        "polarities": {"achieve": 2, "answer": 1},
        "exporters": ["sft", "rl"],
        "judged": True,
        "run": "r",
        "gone": 1,
    }
    words = shlex.split(render_order(config))
    assert words[:4] == ["envmill", "run", "--recipe", "awm"]
    assert {"--judged", "--polarities", "achieve=2,answer=1", "--exporters", "sft,rl"} <= {*words}


def test_settings_that_there_are_no_more_are_passed_over(tmp_path: Path) -> None:
    """A run of this version line may have been begun before a setting went."""
    lake, stored = (
        Lake(str(tmp_path)),
        RunConfig(recipe="awm", environments=3).model_dump(mode="json") | {"embedder": "lexical"},
    )
    lake.fix("r", "config", stored)
    note(lake, "r", "started", stored)
    assert RunConfig.read(stored) == RunConfig(recipe="awm", environments=3)
    assert fill_in(lake, "r", RunConfig(run="r")).recipe == "awm"
    assert not is_finished(lake, "r")
    assert "embedder" not in render_order(stored)
    with pytest.raises(ValidationError, match="embedder"):
        RunConfig.model_validate(stored)
