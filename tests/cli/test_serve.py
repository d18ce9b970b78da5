"""`serve`: what is started for an exported folder and for a bundle folder, and what is said where
it cannot be."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.bundles import Folder, write_folder
from envmill.interop.consumers import CONSUMERS
from flows.cli import serve as command
from flows.local.home import Home
from tests.interop.consumers.folders import make_export_set, write_consumer
from tests.specimens import make_environment, make_scenario

SHED = make_environment()
LEND = make_scenario(SHED)


class Started(Exception):
    """Instead of the server's process."""


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> dict[str, Any]:
    """What would have been run."""
    seen: dict[str, Any] = {}

    def execve(path: str, words: list[str], settings: dict[str, str]) -> None:
        seen.update(path=path, words=words, settings=settings, folder=Path.cwd())
        raise Started

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execve", execve)
    monkeypatch.setattr(command, "_LOOK", "")
    return seen


def run(home: Home, *words: str) -> None:
    from typer.testing import CliRunner

    from flows.cli import make_app

    settings = {
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": home.settings.lake,
        "ENVMILL_PORT": "0",
    }
    done = CliRunner().invoke(make_app(["serve"]), ["serve", *words], env=settings)
    if done.exception:
        raise done.exception


def test_an_exported_folder_is_served_as_it_lies(
    home: Home, tmp_path: Path, started: dict[str, Any]
) -> None:
    folder = write_consumer(CONSUMERS["openenv"], make_export_set([(LEND, SHED)]), tmp_path / "out")
    with pytest.raises(Started):
        run(home, str(folder), "--port", "8123", "--sessions", "32")
    assert started["folder"] == folder
    assert started["words"] == [
        sys.executable,
        "-B",
        "-m",
        "envmill_openenv.app",
        "--host",
        "127.0.0.1",
        "--port",
        "8123",
    ]
    assert started["settings"]["ENVMILL_OPENENV_SESSIONS"] == "32"
    assert "ENVMILL_OPENENV_TOKEN" not in started["settings"]


def test_a_bundle_folder_is_written_out_below_the_home(
    home: Home, tmp_path: Path, started: dict[str, Any]
) -> None:
    write_folder(tmp_path / "shed", Folder(SHED, scenarios=(LEND,)))
    for _ in range(2):
        with pytest.raises(Started):
            run(home, str(tmp_path / "shed"), "--token", str(tmp_path / "token"))
    assert started["folder"].is_relative_to(home.folder)
    assert (started["folder"] / "envmill_openenv/public/rows.jsonl").exists()
    assert started["settings"]["ENVMILL_OPENENV_TOKEN"] == (tmp_path / "token").read_text().strip()
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    assert len(list((home.folder / "served").iterdir())) == 1


def test_what_cannot_be_served_is_said(
    home: Home, tmp_path: Path, started: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SettingsError, match="neither an exported folder nor a bundle folder"):
        run(home, str(tmp_path))
    write_folder(tmp_path / "empty", Folder(SHED))
    with pytest.raises(SettingsError, match="no scenario that can be served"):
        run(home, str(tmp_path / "empty"))
    with pytest.raises(SettingsError, match="cannot be run"):
        run(home, str(tmp_path), "--python", str(tmp_path / "none"))
    monkeypatch.setattr(command, "_LOOK", "raise SystemExit(1)")
    with pytest.raises(SettingsError, match=r"has no OpenEnv. Install it .* openenv==0\.10\.0"):
        run(home, str(tmp_path))
    assert not started
