"""`envmill export`: what a run kept, written again as it is wanted; nothing to export is told with what to do."""

import asyncio
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from envmill.lake.lake import Lake
from flows.cli import make_app
from flows.local.home import Home
from flows.opening import open_walk
from schemas.rollout import Bundle
from schemas.run import RunConfig
from tests.cli.conftest import start_run

CONFIG = RunConfig(environments=1, scenarios=2, attempts=2, keep=1, seed=11, mistakes=0.0, polarities={"achieve": 1}, exporters=("sft",))


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Settings of a home where one small run was walked bare."""
    folder = tmp_path_factory.mktemp("finished")
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    surroundings = {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}

    async def walk() -> None:
        async with open_walk("r1", CONFIG, Home.read(surroundings).settings) as opened:
            await opened.walk()

    asyncio.run(walk())
    return surroundings


def ask(surroundings: dict[str, str], *words: str) -> Result:
    return CliRunner(env=surroundings).invoke(make_app(), ["export", *words])


def test_the_step_exports_what_the_settings_name(finished: dict[str, str]) -> None:
    assert {path.name for path in Path(finished["ENVMILL_BUNDLES"], "r1").iterdir()} == {"sft"}


def test_by_hand_it_makes_the_same_bytes_and_a_copy_is_the_same_bundle(finished: dict[str, str]) -> None:
    told = [ask(finished, "r1", "--exporter", "sft").stdout for _ in range(2)]
    assert told[0] == told[1]
    by_hand = Path(told[0].split()[1])
    step = Path(finished["ENVMILL_BUNDLES"], "r1/sft")
    assert {path.name: path.read_bytes() for path in by_hand.iterdir()} == {path.name: path.read_bytes() for path in step.iterdir()}
    assert [row.path for row in Lake(finished["ENVMILL_LAKE"]).read(Bundle, "r1")] == ["r1/sft"]


def test_everything_goes_to_a_folder_that_is_named_and_new(finished: dict[str, str], tmp_path: Path) -> None:
    done = ask(finished, "r1", "--out", str(tmp_path / "out"))
    assert done.exit_code == 0, done.stderr
    assert {path.name for path in (tmp_path / "out").iterdir()} >= {"sft", "rl", "dataset", "bundle"}
    recorded = {row.exporter: row for row in Lake(finished["ENVMILL_LAKE"]).read(Bundle, "r1")}
    assert (tmp_path / "out" / "bundle" / recorded["bundle"].environments[0] / "bundle.json").exists()
    assert "exists already" in str(ask(finished, "r1", "--out", str(tmp_path / "out")).exception)


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        pytest.param(["r1", "--exporter", "csv"], "no exporter 'csv'. Known: sft, rl", id="exporter"),
        pytest.param(["r1", "--split", "dev"], "no split 'dev'. Known: train", id="split"),
        pytest.param(["r9"], "No run r9", id="run"),
        pytest.param(["begun"], "has not come to scenarios-build yet", id="begun"),
        pytest.param(["r1", "--exporter", "sft", "--split", "validation", "--split", "test"], "kept nothing of split", id="empty"),
    ],
)
def test_what_cannot_be_exported_is_told(finished: dict[str, str], words: list[str], complaint: str) -> None:
    start_run(Home.read(finished), "begun")
    assert complaint in str(ask(finished, *words).exception)
