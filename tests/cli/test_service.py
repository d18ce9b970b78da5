"""What `up` hands to others: the database to the server, the unit file to systemd, the address to
whoever asks for it."""

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from flows.local.errors import NoServer
from flows.local.home import Home
from flows.local.launch import read_boot, read_start
from flows.local.service import bring_up, find_server, make_link, read_named
from flows.local.unit import make_unit, write_unit

DATABASE = "postgresql://mill:s3cret@db.example:5432/prefect"


def read_home(folder: Path, **environ: str) -> Home:
    return Home.read({"ENVMILL_HOME": str(folder), "ENVMILL_PORT": "0", **environ})


def test_the_database_reaches_the_server_and_is_never_shown(tmp_path: Path) -> None:
    home = read_home(tmp_path, ENVMILL_DATABASE=DATABASE)
    assert home.child_environ("", "server")[
        "PREFECT_SERVER_DATABASE_CONNECTION_URL"
    ] == DATABASE.replace("postgresql", "postgresql+asyncpg")
    assert "s3cret" not in repr(home.settings)
    assert "s3cret" not in make_unit(home, machine=False)
    assert "PREFECT_SERVER_DATABASE_CONNECTION_URL" not in read_home(tmp_path).child_environ(
        "", "server"
    )
    assert home.child_environ("", "watchdog")["ENVMILL_DATABASE"] == DATABASE, (
        "it starts a server that died"
    )
    assert not [value for value in home.child_environ("", "worker").values() if "s3cret" in value]


@pytest.mark.parametrize("text", ["mysql://host/name", "db.example", "postgresql://"])
def test_a_database_that_is_none_of_ours_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(SettingsError, match="write it like postgresql://"):
        read_home(tmp_path, ENVMILL_DATABASE=text)


def test_the_unit_file_keeps_places_and_leaves_keys_out(tmp_path: Path) -> None:
    home = read_home(
        tmp_path,
        ENVMILL_LAKE="s3://lake/100%",
        ENVMILL_ENDPOINT_LAB="http://lab",
        ENVMILL_ENDPOINT_LAB_KEY="k3y",
        TERM="x",
    )
    path, commands = write_unit(home, tmp_path / "units")
    text = path.read_text()
    assert 'Environment="ENVMILL_LAKE=s3://lake/100%%"' in text
    assert 'Environment="ENVMILL_ENDPOINT_LAB=http://lab"' in text
    assert f"PIDFile={tmp_path}/watchdog.pid" in text
    assert "k3y" not in text
    assert "TERM" not in text
    assert any("enable --now envmill" in command for command in commands)


def test_systemd_takes_the_unit_file(tmp_path: Path) -> None:
    if not (analyze := shutil.which("systemd-analyze")):
        pytest.skip("systemd-analyze is missing: it comes with systemd")
    path, _ = write_unit(read_home(tmp_path), tmp_path / "units")
    told = subprocess.run(
        [analyze, "verify", str(path)], capture_output=True, text=True, check=False
    )
    assert path.name not in told.stderr.replace("not executable", ""), told.stderr


def test_a_named_server_is_used_only_when_asked_for(tmp_path: Path) -> None:
    named = read_home(tmp_path, PREFECT_API_URL="http://elsewhere:4200/api/")
    assert read_named(named) == "http://elsewhere:4200"
    with pytest.raises(SettingsError, match="PREFECT_API_URL"):
        read_named(read_home(tmp_path))
    named.use_remote("http://elsewhere:4200")
    assert find_server(read_home(tmp_path)) == "http://elsewhere:4200"


def test_a_remote_server_that_is_not_there_changes_nothing(tmp_path: Path) -> None:
    home = read_home(tmp_path)
    with pytest.raises(Exception, match="does not answer"):
        bring_up(home, lambda _: None, remote="http://127.0.0.1:1")
    assert home.remote == ""


def test_a_server_that_hangs_or_has_just_died_makes_no_link_and_says_so(tmp_path: Path) -> None:
    home = read_home(tmp_path)
    me = {
        "pid": os.getpid(),
        "started": read_start(os.getpid()),
        "boot": read_boot(),
        "url": "http://127.0.0.1:1",
    }
    (tmp_path / "server.json").write_text(json.dumps(me))
    with pytest.raises(NoServer, match=r"does not answer \(ConnectError\)"):
        make_link(home)
