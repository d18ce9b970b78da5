from pathlib import Path

import pytest
from typer.testing import CliRunner

from envmill.base.settings import ROOT
from flows.cli import demo, make_app
from flows.local import service
from flows.local.home import Home
from schemas.run import RunConfig


def test_the_users_settings_do_not_reach_the_demo(tmp_path: Path) -> None:
    mine = {
        "ENVMILL_HOME": "/mine",
        "ENVMILL_PORT": "4270",
        "ENVMILL_AUTHOR_URL": "http://mine",
        "PREFECT_API_URL": "http://mine",
        "PATH": "/bin",
    }
    home = demo.make_demo_home(mine, tmp_path)
    assert (home.folder, home.settings.lake, home.settings.bundles) == (
        tmp_path,
        str(tmp_path / "lake"),
        tmp_path / "bundles",
    )
    assert (home.settings.port, home.settings.author_url) == (0, "")
    assert home.environ["PATH"] == "/bin"
    assert "PREFECT_API_URL" not in home.environ


@pytest.mark.parametrize(
    ("ending", "options", "code", "stopped"),
    [
        pytest.param(True, [], 0, True, id="finished"),
        pytest.param(True, ["--keep"], 0, False, id="kept"),
        pytest.param(False, ["--keep"], 1, True, id="failed"),
        pytest.param(KeyboardInterrupt(), ["--keep"], 130, True, id="interrupted"),
    ],
)
def test_nothing_outlives_the_demo_unasked(
    monkeypatch: pytest.MonkeyPatch,
    ending: bool | BaseException,
    options: list[str],
    code: int,
    stopped: bool,
) -> None:
    downs: list[Home] = []

    def run(_home: Home, config: RunConfig) -> bool:
        assert (config.environments, config.scenarios, config.attempts) == (24, 4, 8)
        if isinstance(ending, BaseException):
            raise ending
        return ending

    def come_up(_home: Home, _say: object) -> str:
        return "http://127.0.0.1:1"

    def come_down(home: Home, _say: object) -> None:
        downs.append(home)

    monkeypatch.setattr(service, "bring_up", come_up)
    monkeypatch.setattr(service, "bring_down", come_down)
    monkeypatch.setattr(demo, "_run_and_show", run)
    result = CliRunner().invoke(make_app(), ["demo", *options])
    assert result.exit_code == code
    assert [home.folder for home in downs] == ([ROOT / ".envmill/demo"] if stopped else [])
