"""The home, the secret and the keys: nobody but their owner reads them, and no process has a key
that needs none."""

import json
import os
import stat
from pathlib import Path

import pytest

from envmill.base.errors import SettingsError
from envmill.lake.stores.local import LocalStore
from flows import surroundings
from flows.local.home import Home
from flows.local.private import (
    ensure_secret,
    forget_private,
    make_lake,
    read_keys,
    read_secret,
    secure_folder,
    write_keys,
)

NOBODY = 65534
URL = "http://127.0.0.1:1"
KEYS = {
    "OPENAI_API_KEY": "sk-openai",
    "ANTHROPIC_API_KEY": "sk-anthropic",
    "ENVMILL_ENDPOINT_LAB_KEY": "sk-lab",
}


def read_home(folder: Path, **environ: str) -> Home:
    return Home.read({"ENVMILL_HOME": str(folder), "ENVMILL_PORT": "0", **environ})


def own_server(home: Home, url: str = URL) -> None:
    (home.folder / "server.json").write_text(json.dumps({"url": url}))


def as_nobody(path: Path) -> bool:
    """Whether another user of this machine can read a file."""
    if child := os.fork():
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    try:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
        path.read_bytes()
    except OSError:
        os._exit(1)
    os._exit(0)


def test_a_home_is_closed_to_others_with_all_that_was_open_in_it(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "journal").mkdir(parents=True)
    (home / "journal/run").write_text("{}")
    home.chmod(0o755)
    with read_home(home).lock(seconds=0):
        assert stat.S_IMODE(home.stat().st_mode) == 0o700


def test_a_new_lake_is_closed_and_an_old_one_keeps_its_mode(tmp_path: Path) -> None:
    lake = tmp_path / "data/lake"
    make_lake(str(lake))
    assert stat.S_IMODE(lake.stat().st_mode) == 0o700
    lake.chmod(0o750)
    make_lake(str(lake))
    assert stat.S_IMODE(lake.stat().st_mode) == 0o750
    make_lake("s3://bucket/lake")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root becomes another user")
def test_another_user_reads_nothing_of_a_home(tmp_path: Path) -> None:
    for folder in (tmp_path, *tmp_path.parents[:-2]):
        folder.chmod(folder.stat().st_mode | 0o011)
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    ensure_secret(home)
    (home / "log").write_text("")
    (home / "log").chmod(0o644)
    assert as_nobody(home / "log"), "so that the test can fail"
    assert not as_nobody(home / "secret")
    secure_folder(home)
    assert not as_nobody(home / "log")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes folders of others")
def test_a_home_of_another_user_is_refused_by_its_name_and_by_a_link(tmp_path: Path) -> None:
    theirs, link = tmp_path / "theirs", tmp_path / "link"
    theirs.mkdir()
    os.chown(theirs, NOBODY, NOBODY)
    with pytest.raises(SettingsError, match="belongs to another user"):
        secure_folder(theirs)
    link.symlink_to(theirs)
    with pytest.raises(SettingsError, match="belongs to another user"):
        secure_folder(link)
    link.unlink()
    (tmp_path / "ours").mkdir()
    link.symlink_to(tmp_path / "ours")
    secure_folder(link)
    os.chown(link, NOBODY, NOBODY, follow_symlinks=False)
    with pytest.raises(SettingsError, match="belongs to another user"):
        secure_folder(link)


def test_a_secret_is_drawn_once_and_kept(tmp_path: Path) -> None:
    ensure_secret(tmp_path)
    drawn = read_secret(tmp_path)
    assert stat.S_IMODE((tmp_path / "secret").stat().st_mode) == 0o600
    assert drawn.startswith("envmill:")
    assert len(drawn) >= 40
    ensure_secret(tmp_path)
    assert read_secret(tmp_path) == drawn
    ensure_secret(tmp_path, chosen="operator:chosen")
    assert read_secret(tmp_path) == "operator:chosen"
    forget_private(tmp_path)
    assert read_secret(tmp_path) == ""


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620])
def test_a_secret_that_others_could_read_is_refused_and_replaced(tmp_path: Path, mode: int) -> None:
    ensure_secret(tmp_path)
    drawn = read_secret(tmp_path)
    (tmp_path / "secret").chmod(mode)
    with pytest.raises(SettingsError, match="Other users could read or change"):
        read_secret(tmp_path)
    ensure_secret(tmp_path)
    assert read_secret(tmp_path) != drawn


def test_a_link_in_the_place_of_the_secret_is_neither_read_nor_written_through(
    tmp_path: Path,
) -> None:
    other = tmp_path / "other"
    other.write_text("envmill:known-to-others")
    other.chmod(0o600)
    (tmp_path / "secret").symlink_to(other)
    with pytest.raises(SettingsError, match="cannot be read"):
        read_secret(tmp_path)
    ensure_secret(tmp_path)
    assert other.read_text() == "envmill:known-to-others"
    assert read_secret(tmp_path) != other.read_text()


def test_no_process_of_a_home_inherits_a_key(tmp_path: Path) -> None:
    home = read_home(
        tmp_path,
        **KEYS,
        ENVMILL_ENDPOINT_LAB="http://lab",
        AWS_SECRET_ACCESS_KEY="aws",
        GITHUB_TOKEN="gh",
        PATH="/bin",
    )
    own_server(home)
    for name in ("server", "worker", "watchdog"):
        environ = home.child_environ(URL, name)
        assert not {*KEYS, "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"} & set(environ)
        assert (environ["ENVMILL_ENDPOINT_LAB"], environ["PATH"]) == ("http://lab", "/bin")


@pytest.mark.parametrize(
    "name",
    [
        "OPENAI_APIKEY",
        "openai_api_key",
        "PGPASSWORD",
        "MYSQL_PASSWD",
        "TOKEN",
        "GH_TOKEN",
        "CLIENTSECRET",
    ],
)
def test_what_looks_like_a_secret_is_not_inherited_however_it_is_spelled(
    tmp_path: Path, name: str
) -> None:
    home = read_home(
        tmp_path,
        **{
            name: "s3cret",
            "AWS_ACCESS_KEY_ID": "id",
            "KEYMAP": "us",
            "TOKENIZERS_PARALLELISM": "false",
        },
    )
    environ = home.child_environ(URL)
    assert name not in environ
    assert {"AWS_ACCESS_KEY_ID", "KEYMAP", "TOKENIZERS_PARALLELISM"} <= set(environ)


def test_flow_runs_get_the_keys_that_they_use_and_no_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = read_home(tmp_path, **KEYS, ENVMILL_ENDPOINT_LAB="http://lab", GITHUB_TOKEN="gh")
    write_keys(
        home.folder,
        home.environ,
        {endpoint.key_name for endpoint in home.settings.endpoints.values()},
    )
    assert read_keys(tmp_path) == KEYS
    assert stat.S_IMODE((tmp_path / "keys.json").stat().st_mode) == 0o600
    environ = home.child_environ(URL)
    monkeypatch.setattr(surroundings.os, "environ", environ)
    assert surroundings.read_settings().endpoints["lab"].key.reveal() == "sk-lab"


def test_a_second_up_adds_keys_and_down_forgets_them(tmp_path: Path) -> None:
    write_keys(tmp_path, {"OPENAI_API_KEY": "one"}, {"OPENAI_API_KEY"})
    write_keys(tmp_path, {"ANTHROPIC_API_KEY": "two"}, {"OPENAI_API_KEY", "ANTHROPIC_API_KEY"})
    assert read_keys(tmp_path) == {"OPENAI_API_KEY": "one", "ANTHROPIC_API_KEY": "two"}
    forget_private(tmp_path)
    assert read_keys(tmp_path) == {}


def test_keys_that_others_could_change_are_not_used(tmp_path: Path) -> None:
    write_keys(tmp_path, {"OPENAI_API_KEY": "one"}, {"OPENAI_API_KEY"})
    (tmp_path / "keys.json").chmod(0o666)
    with pytest.raises(SettingsError, match="Other users"):
        read_keys(tmp_path)
    write_keys(tmp_path, {}, {"OPENAI_API_KEY"})
    assert read_keys(tmp_path) == {}


def test_each_server_is_shown_its_own_credential(tmp_path: Path) -> None:
    home = read_home(
        tmp_path,
        PREFECT_API_URL="https://elsewhere/api",
        PREFECT_API_AUTH_STRING="me:there",
        PREFECT_CLIENT_CUSTOM_HEADERS='{"X-Team": "mill"}',
    )
    ensure_secret(tmp_path, chosen="me:here")
    own_server(home)
    assert home.make_headers(URL) == {"Authorization": "Basic bWU6aGVyZQ=="}
    assert home.make_headers("https://elsewhere") == {
        "Authorization": "Basic bWU6dGhlcmU=",
        "X-Team": "mill",
    }
    assert json.loads(
        home.child_environ(URL)["PREFECT_CLIENT_CUSTOM_HEADERS"]
    ) == home.make_headers(URL)
    assert "PREFECT_API_AUTH_STRING" not in home.child_environ(URL)
    assert home.child_environ("https://elsewhere")["PREFECT_API_AUTH_STRING"] == "me:there"
    assert "PREFECT_API_AUTH_STRING" not in home.child_environ(URL, "server")


def test_an_api_key_goes_to_the_remote_server_alone(tmp_path: Path) -> None:
    home = read_home(tmp_path, PREFECT_API_KEY="pnu_1")
    own_server(home)
    assert home.make_headers("https://cloud") == {"Authorization": "Bearer pnu_1"}
    assert home.make_headers(URL) == {}
    assert home.child_environ("https://cloud", "watchdog")["PREFECT_API_KEY"] == "pnu_1"
    assert not [value for value in home.child_environ(URL).values() if "pnu_1" in value]


@pytest.mark.parametrize(
    ("given", "folder", "file"),
    [(None, 0o700, 0o600), (0o700, 0o700, 0o600), (0o2770, 0o2770, 0o660), (0o750, 0o750, 0o640)],
)
def test_what_is_put_into_a_lake_is_open_to_those_to_whom_the_lake_is(
    tmp_path: Path, given: int | None, folder: int, file: int
) -> None:
    """A group shares a lake by the mode of its folder; without one its owner alone reads it,
    whatever the umask."""
    root = tmp_path / "lake"
    if given is not None:
        root.mkdir()
        root.chmod(given)
    store, before = LocalStore(str(root)), os.umask(0)
    try:
        assert store.put_if_absent("drafts/run-1/part.parquet", b"x")
    finally:
        os.umask(before)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in root.rglob("*")}
    assert modes == {"drafts": folder, "run-1": folder, "part.parquet": file}
    assert stat.S_IMODE(root.stat().st_mode) == (folder if given is None else given)
    assert as_nobody(root / "drafts/run-1/part.parquet") is False
