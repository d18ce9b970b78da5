"""The recall feed: a withdrawn scenario is refused when a session begins; a feed that cannot be
read takes nothing back."""

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import pytest

from envmill.interop.consumers.sessions import (
    FeedError,
    OutageError,
    RecallFeed,
    ScenarioRow,
    SetError,
    WithdrawnError,
    open_set,
)
from tests.interop.consumers.folders import BARE, make_export_set, write_consumer
from tests.specimens import make_environment, make_scenario

ROW = ScenarioRow(
    2,
    "scn_a",
    "scn_a",
    "env_a",
    "stateful",
    "000",
    "single",
    "train",
    1,
    [],
    [],
    {},
    "MIT",
    "binary",
)


def write(path: Path, *subjects: str, seq: int | None = None) -> Path:
    told = [
        {"seq": number, "subject": one, "reason": "S8: bad"}
        for number, one in enumerate(subjects, 1)
    ]
    path.write_text(
        json.dumps({"form": 1, "seq": len(told) if seq is None else seq, "withdrawn": told})
    )
    return path


@pytest.mark.parametrize("name", ["scn_a", "env_a"])
def test_a_withdrawn_scenario_is_refused_by_a_typed_outage(name: str, tmp_path: Path) -> None:
    feed = RecallFeed(str(write(tmp_path / "feed.json", "scn_other")), every=0)
    feed.check(ROW)
    write(tmp_path / "feed.json", "scn_other", name)
    with pytest.raises(WithdrawnError, match=f"{name} was withdrawn: S8: bad"):
        feed.check(ROW)
    assert issubclass(WithdrawnError, OutageError)
    assert feed.describe() == {"feed": True, "seq": 2, "withdrawn": 2, "problem": ""}


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        '{"form": 2}',
        '{"form": 1, "seq": 1, "withdrawn": [{}]}',
        '{"form": 1, "withdrawn": []}',
    ],
)
def test_a_feed_that_cannot_be_read_changes_nothing_and_says_so(
    content: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "feed.json", "scn_a")
    feed, strict = RecallFeed(str(path), every=0), RecallFeed(str(path), every=0, required=True)
    for one in (feed, strict):
        with pytest.raises(WithdrawnError):
            one.check(ROW)
    path.write_text(content)
    other = ScenarioRow(**{**ROW.__dict__, "scenario": "scn_b", "environment": "env_b"})
    with pytest.warns(UserWarning, match="What is known stays withdrawn"):
        feed.check(other)
    assert feed.describe()["problem"]
    with pytest.raises(WithdrawnError):
        feed.check(ROW)
    with (
        pytest.warns(UserWarning, match="newer recalls are missed"),
        pytest.raises(FeedError, match="Nothing begins without it"),
    ):
        strict.check(other)
    write(path, "scn_a", "scn_c")
    feed.check(other)
    strict.check(other)
    assert feed.describe()["problem"] == ""


def test_an_older_copy_takes_nothing_back(tmp_path: Path) -> None:
    path = write(tmp_path / "feed.json", "scn_b", "scn_a")
    feed = RecallFeed(str(path), every=0)
    with pytest.raises(WithdrawnError):
        feed.check(ROW)
    write(path, "scn_b")
    with (
        pytest.warns(UserWarning, match="went back from number 2 to 1"),
        pytest.raises(WithdrawnError),
    ):
        feed.check(ROW)


def test_it_is_read_no_more_often_than_asked(tmp_path: Path) -> None:
    now, path = [0.0], write(tmp_path / "feed.json")
    feed = RecallFeed(str(path), every=30, clock=lambda: now[0])
    feed.check(ROW)
    write(path, "scn_a")
    now[0] = 29.0
    feed.check(ROW)
    now[0] = 30.0
    with pytest.raises(WithdrawnError):
        feed.check(ROW)


def test_a_required_feed_must_be_named_and_there_is_none_without(tmp_path: Path) -> None:
    RecallFeed.of({}).check(ROW)
    with pytest.raises(FeedError, match="names no feed"):
        RecallFeed.of({"ENVMILL_RECALLS_REQUIRED": "1"}).check(ROW)
    missing = {"ENVMILL_RECALLS": str(tmp_path / "none.json")}
    with pytest.warns(UserWarning, match="none.json"):
        RecallFeed.of(missing).check(ROW)
    with pytest.warns(UserWarning, match="newer recalls are missed"), pytest.raises(FeedError):
        RecallFeed.of(missing | {"ENVMILL_RECALLS_REQUIRED": "1"}).check(ROW)


@pytest.mark.parametrize(
    "place", ["http://mill.example/feed", "file:" + "///etc/passwd", "ftp://localhost/x"]
)
def test_it_is_asked_over_https_or_on_this_machine(place: str) -> None:
    with pytest.raises(SetError, match="an https address"):
        RecallFeed(place)
    with pytest.raises(SetError, match="a number of seconds"):
        RecallFeed.of({"ENVMILL_RECALLS_SECONDS": "soon"})


class Server(BaseHTTPRequestHandler):
    asked: ClassVar[list[tuple[str, str]]] = []

    def do_GET(self) -> None:
        Server.asked.append((self.path, self.headers.get("Authorization", "")))
        if self.path == "/away":
            self.send_response(302)
            self.send_header("Location", "/feed")
            self.end_headers()
            return
        body = json.dumps(
            {"form": 1, "seq": 1, "withdrawn": [{"seq": 1, "subject": "scn_a", "reason": "x"}]}
        ).encode()
        self.send_response(200 if self.headers.get("Authorization") == "Bearer secret" else 401)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def server() -> Iterator[str]:
    found = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    Thread(target=found.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{found.server_port}"
    found.shutdown()
    found.server_close()


def test_a_server_is_asked_with_its_token_and_follows_nobody_elsewhere(server: str) -> None:
    Server.asked.clear()
    with pytest.raises(WithdrawnError):
        RecallFeed(f"{server}/feed", "secret").check(ROW)
    for place, token in ((f"{server}/feed", "wrong"), (f"{server}/away", "secret")):
        with pytest.warns(UserWarning, match="stays withdrawn"):
            RecallFeed(place, token).check(ROW)
    assert [path for path, _ in Server.asked] == ["/feed", "/feed", "/away"]


def test_a_set_refuses_at_the_next_reset_and_lets_what_began_come_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = make_environment()
    scenario = make_scenario(environment)
    folder = (
        write_consumer(BARE, make_export_set([(scenario, environment)]), tmp_path) / BARE.package
    )
    monkeypatch.setenv("ENVMILL_RECALLS", str(write(tmp_path / "feed.json")))
    monkeypatch.setenv("ENVMILL_RECALLS_SECONDS", "0")
    with open_set(folder) as found, found.begin(found.rows[0].id) as session:
        write(tmp_path / "feed.json", scenario.id)
        with pytest.raises(WithdrawnError):
            found.begin(found.rows[0].id)
        session.say("Done.")
        assert session.judge().outcome in ("pass", "fail")
        assert found.judge_moves(found.rows[0].id, session.moves).outcome in ("pass", "fail")
