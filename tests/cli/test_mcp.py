"""`mcp` on a lake that holds the shed and its scenario: a client over lines, and what it did,
scored."""

import json
import os
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from envmill.base.errors import SettingsError
from envmill.base.settings import ROOT
from envmill.interop.bundles import Folder, write_folder
from flows.cli import make_app
from flows.local.home import Home
from tests.cli.test_play import LEND, SHED, keep
from tests.runtime.mcp.clients import Lines
from tests.sandbox.processes import wait_until_gone
from tests.specimens import STATE, make_tests


def list_environ(home: Home) -> dict[str, str]:
    return {
        "ENVMILL_HOME": str(home.folder),
        "ENVMILL_LAKE": home.settings.lake,
        "ENVMILL_PORT": "0",
    }


def score(home: Home, *words: str) -> tuple[int, str]:
    done = CliRunner().invoke(make_app(["mcp"]), ["mcp", *words], env=list_environ(home))
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def serve(home: Home, *words: str) -> Lines:
    paths = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"]}
    return Lines(
        [sys.executable, "-m", "flows.cli", "mcp", *words], ROOT, list_environ(home) | paths
    )


def test_a_client_plays_a_stored_scenario_and_is_scored(home: Home, tmp_path: Path) -> None:
    keep(home, SHED, *make_tests(SHED), LEND)
    moves = str(tmp_path / "moves")
    with serve(home, LEND.id, "--record", moves) as client:
        assert client.begin()["serverInfo"]["title"] == "Shed"
        for call in LEND.oracle:
            assert client.call(call.name, call.arguments)["result"]["isError"] is False
        assert "reward" not in json.dumps(client.ask("tools/list"))
        assert client.leave() == (0, "")
    assert not wait_until_gone(client.process.pid)
    assert score(home, SHED.id, "--score", moves) == (0, "pass, reward 1\n")
    code, told = score(home, LEND.id, "--score", moves, "--say", "Done.", "--json")
    assert (code, json.loads(told)["reward"]) == (0, 1.0)
    (tmp_path / "nothing").write_text(Path(moves).read_text().splitlines()[0] + "\n")
    code, told = score(home, SHED.id, "--score", str(tmp_path / "nothing"))
    assert (code, told.startswith("fail, reward 0")) == (1, True)
    check_complaints(home, moves, tmp_path)


def check_complaints(home: Home, moves: str, tmp_path: Path) -> None:
    """What cannot be served or scored is told before anything is started."""
    (tmp_path / "state.json").write_text(json.dumps(STATE))
    for words, complaint in (
        ([SHED.id, "--scenario", "7"], "There are: 000"),
        ([SHED.id, "--clock", "soon"], "Write ISO 8601"),
        ([SHED.id, "--http", "here"], "Write HOST:PORT"),
        ([SHED.id, "--actor", "boss"], "There are: agent"),
        ([SHED.id, "--record", moves], "exists already"),
        ([SHED.id, "--score", str(tmp_path / "none")], "is no recording"),
    ):
        with pytest.raises(SettingsError, match=complaint):
            score(home, *words)
    head = json.loads(Path(moves).read_text().splitlines()[0])
    for change, complaint in (
        ({"scenario": ""}, "no verifier can judge"),
        ({"program": "x"}, "another environment"),
    ):
        (tmp_path / "wrong").write_text(json.dumps(head | change) + "\n")
        with pytest.raises(SettingsError, match=complaint):
            score(home, SHED.id, "--score", str(tmp_path / "wrong"))


def test_a_folder_without_a_start_names_its_scenarios(home: Home, tmp_path: Path) -> None:
    write_folder(tmp_path / "shed", Folder(SHED, (), (LEND,)))
    with pytest.raises(SettingsError, match="--scenario ID or --state FILE"):
        score(home, str(tmp_path / "shed"))
