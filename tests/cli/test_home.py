import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.errors import EnvMillError, SettingsError
from flows.local.home import Home


@pytest.fixture
def stranger() -> Iterator[int]:
    """A port another program listens on."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        yield taken.getsockname()[1]


def read_home(folder: Path, **environ: str) -> Home:
    return Home.read({"ENVMILL_HOME": str(folder), "ENVMILL_PORT": "0", **environ})


def test_the_users_prefect_is_not_ours(tmp_path: Path) -> None:
    home = read_home(
        tmp_path,
        PREFECT_API_URL="https://elsewhere",
        PREFECT_PROFILE="cloud",
        PREFECT_LOGGING_LEVEL="DEBUG",
        PATH="/bin",
    )
    environ = home.child_environ("http://127.0.0.1:1")
    assert environ["PREFECT_API_URL"] == "http://127.0.0.1:1/api"
    assert environ["PREFECT_HOME"] == str(tmp_path / "prefect")
    assert not {"PREFECT_PROFILE", "PREFECT_LOGGING_LEVEL"} & set(environ)
    assert environ["PATH"] == "/bin"


def test_settings_reach_children_as_absolute_paths(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    environ = read_home(
        Path("here"), ENVMILL_LAKE="lake", ENVMILL_AUTHOR_URL="http://127.0.0.1:9"
    ).child_environ("")
    assert environ["ENVMILL_HOME"] == str(tmp_path / "here")
    assert environ["ENVMILL_LAKE"] == str(tmp_path / "lake")
    assert environ["ENVMILL_AUTHOR_URL"] == "http://127.0.0.1:9"


def test_loopback_goes_past_the_users_proxy(tmp_path: Path) -> None:
    environ = read_home(
        tmp_path, HTTP_PROXY="http://proxy:3128", NO_PROXY="corp.example"
    ).child_environ("")
    assert environ["NO_PROXY"] == "corp.example,127.0.0.1,localhost"


def test_a_taken_port_is_named_with_the_mend(tmp_path: Path, stranger: int) -> None:
    with pytest.raises(SettingsError, match=f"Port {stranger} is taken.*ENVMILL_PORT"):
        read_home(tmp_path, ENVMILL_PORT=str(stranger)).claim_port()


def test_a_picked_port_is_remembered(tmp_path: Path) -> None:
    with read_home(tmp_path).claim_port() as first:
        port = first.getsockname()[1]
    with read_home(tmp_path).claim_port() as again:
        assert again.getsockname()[1] == port


def test_a_remembered_port_that_was_lost_is_replaced(tmp_path: Path, stranger: int) -> None:
    (tmp_path / "port").write_text(str(stranger))
    with read_home(tmp_path).claim_port() as claimed:
        assert claimed.getsockname()[1] not in (stranger, 0)


def test_two_homes_claim_two_ports(tmp_path: Path) -> None:
    with (
        read_home(tmp_path / "a").claim_port() as one,
        read_home(tmp_path / "b").claim_port() as other,
    ):
        assert one.getsockname() != other.getsockname()


def test_starting_and_stopping_take_turns(tmp_path: Path) -> None:
    home = read_home(tmp_path)
    with (
        home.lock(),
        pytest.raises(EnvMillError, match="Another `envmill up`"),
        home.lock(seconds=0),
    ):
        pass
    with home.lock(seconds=0):
        pass
