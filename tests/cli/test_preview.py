"""Before a run is paid for: what it would cost, and a few of its environments whole."""

import sys
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.lake.lake import Lake
from flows.cli import main
from flows.cli.preview import make_preview
from flows.local.home import Home
from schemas.environment import Environment
from schemas.run import RunConfig


def run_cli(monkeypatch: pytest.MonkeyPatch, home: Path, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["envmill", *arguments])
    for name, value in {
        "HOME": home,
        "LAKE": home / "lake",
        "BUNDLES": home / "bundles",
        "PORT": 0,
    }.items():
        monkeypatch.setenv(f"ENVMILL_{name}", str(value))
    with pytest.raises(SystemExit) as end:
        main()
    return int(end.value.code or 0)


def test_a_dry_run_shows_the_plan_and_starts_nothing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert (
        run_cli(
            monkeypatch, tmp_path, "run", "--dry-run", "--environments=2", "--target=5", "--seed=3"
        )
        == 0
    )
    out, err = capsys.readouterr()
    assert "blueprint" in out
    assert "target = 5" in err
    assert "at most 20 candidates" in err
    assert "Nothing was started." in err
    assert not (tmp_path / "lake").exists()


def test_a_preview_shows_environments_whole_and_asks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(monkeypatch, tmp_path, "run", "-n", "1", "--seed=3", "--mistakes=0") == 0
    out, err = capsys.readouterr()
    lake = Lake(str(tmp_path / "lake"))
    (run,) = lake.runs()
    (environment,) = lake.read(Environment, run)
    assert f"{environment.id}\ngates: kept" in out
    assert all(
        text in out
        for text in (
            *environment.files.values(),
            *environment.rules,
            *(tool.description for tool in environment.tools),
        )
    )
    assert f"--reuse {run}" in err


def test_a_preview_of_what_goes_on_is_refused(home: Home) -> None:
    with pytest.raises(SettingsError, match="Leave out --resume"):
        make_preview(home, RunConfig(run="night"), 3)
