"""Actors, blobs, notifications and time: the parts of the native interface beyond a call and its
JSON."""

import base64
import hashlib
from datetime import datetime, timedelta
from typing import Any

import pytest

from envmill.runtime import Blob, Rejection, actors, new_id, notify, now, rng, virtual
from envmill.runtime.blob import MAX_BLOB
from envmill.runtime.notice import MAX_PENDING
from envmill.runtime.program import ProgramFault
from envmill.runtime.recorder import Recorder, find_difference
from envmill.runtime.session import MAX_ADVANCE, Reply, Session, ToolEntry

CLOCK = "2026-03-01T09:00:00Z"


class Desk:
    """A small world of this test's own."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.tickets: dict[str, Any] = state["tickets"]
        self._dice = rng()

    @actors("user")
    def open_ticket(self, text: str) -> str:
        key = new_id("t")
        self.tickets[key] = {
            "text": text,
            "until": (now() + timedelta(hours=1)).isoformat(),
            "luck": self._dice.random(),
        }
        notify("agent", f"{key} is open")
        notify("user", f"{key} will lapse", now() + timedelta(minutes=50))
        if text == "no":
            raise Rejection("no", "No.")
        if text == "crash":
            raise RuntimeError(text)
        return key

    @actors("agent", "user")
    def show(self, what: str) -> Any:
        data: dict[str, Any] = {
            "picture": Blob(b"\x89PNG" + b"x" * 100, "image/png"),
            "mixed": ["a text", {"n": 1}, Blob(b"abc", "text/plain")],
            "deep": {"file": Blob(b"abc", "text/plain")},
            "large": Blob(b"x" * (MAX_BLOB + 1), "image/png"),
            "unnamed": Blob(b"x", "png"),
            "no_bytes": Blob("text", "text/plain"),  # pyright: ignore[reportArgumentType]
            "nothing": None,
        }
        return data[what]

    def add(self, count: int) -> int:
        return count + 1

    def flood(self) -> None:
        for _ in range(MAX_PENDING + 1):
            notify("agent", "again")

    def _next_due(self) -> datetime | None:
        return min(
            (datetime.fromisoformat(row["until"]) for row in self.tickets.values() if row["until"]),
            default=None,
        )

    def _fall_due(self) -> None:
        for key, row in self.tickets.items():
            if row["until"] and datetime.fromisoformat(row["until"]) <= now():
                row.update(until=None, lapsed=now().isoformat())
                notify("agent", f"{key} lapsed")
                if row["text"] == "burst":
                    raise ValueError("burst")


def entry(name: str, parameter: str, kind: str, *who: str) -> ToolEntry:
    schema = {
        "type": "object",
        "properties": {parameter: {"type": kind}},
        "additionalProperties": False,
    }
    return {
        "name": name,
        "description": "",
        "parameters": schema,
        "effect": "change",
        **({"actors": list(who)} if who else {}),
    }  # pyright: ignore[reportReturnType]


TOOLS = [
    entry("open_ticket", "text", "string", "user"), entry("show", "what", "string", "agent", "user"), entry("add", "count", "integer"),
    entry("flood", "x", "string"),
]  # fmt: skip


@pytest.fixture
def session() -> Session:
    session = Session(lambda: Desk, TOOLS)
    session.reset({"tickets": {}}, CLOCK, 7)
    return session


def code(reply: Reply) -> str:
    return reply.get("error", {"code": reply["outcome"]})["code"]


@pytest.mark.parametrize(
    ("actor", "tool", "arguments", "expected"),
    [
        pytest.param("user", "open_ticket", {"text": "a"}, "ok", id="allowed"),
        pytest.param("agent", "open_ticket", {"text": "a"}, "not_allowed", id="other-actors-tool"),
        pytest.param("user", "add", {"count": 1}, "not_allowed", id="default-is-the-agent"),
        pytest.param("agent", "add", {"count": 1}, "ok", id="agent"),
        pytest.param("stranger", "show", {"what": "nothing"}, "unknown_actor", id="unknown"),
        pytest.param("", "show", {"what": "nothing"}, "unknown_actor", id="nobody"),
    ],
)
def test_who_may_call(
    session: Session, actor: str, tool: str, arguments: dict[str, Any], expected: str
) -> None:
    before = session.snapshot()
    assert code(session.call(tool, arguments, actor)) == expected
    assert expected == "ok" or session.snapshot() == before


def test_tools_by_actor(session: Session) -> None:
    assert [tool["name"] for tool in session.tools("user")] == ["open_ticket", "show"]
    assert [tool["name"] for tool in session.tools("agent")] == ["show", "add", "flood"]


def test_a_blob_is_a_hash_and_its_bytes_are_fetched(session: Session) -> None:
    (part,) = session.call("show", {"what": "picture"}).get("parts", [])
    data = b"\x89PNG" + b"x" * 100
    assert part == {
        "type": "blob",
        "hash": hashlib.blake2b(data, digest_size=32).hexdigest(),
        "media_type": "image/png",
        "size": 104,
    }
    (whole,) = session.fetch(part["hash"]).get("parts", [])
    assert base64.b64decode(whole["data"]) == data
    assert code(session.fetch("0" * 64)) == "unknown_blob"
    session.reset({"tickets": {}}, CLOCK, 7)
    assert code(session.fetch(part["hash"])) == "unknown_blob"


def test_a_list_with_blobs_is_a_part_each(session: Session) -> None:
    parts = session.call("show", {"what": "mixed"}).get("parts", [])
    assert [part["type"] for part in parts] == ["text", "json", "blob"]


@pytest.mark.parametrize("what", ["deep", "large", "unnamed", "no_bytes"])
def test_a_blob_that_cannot_travel_is_the_programs_fault(session: Session, what: str) -> None:
    assert code(session.call("show", {"what": what})) == "bad_reply"


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"count": 2**63}, "an integer outside 64 bits", id="huge"),
        pytest.param({"count": -(2**63) - 1}, "an integer outside 64 bits", id="huge-negative"),
        pytest.param({"count": float("nan")}, "NaN", id="nan"),
        pytest.param({"count": 1.5}, "must be integer", id="fraction"),
        pytest.param({"count": True}, "must be integer", id="bool"),
        pytest.param([], "must be object", id="list"),
        pytest.param(None, "must be object", id="null"),
        pytest.param({"x": "\ud800"}, "surrogate", id="surrogate"),
        pytest.param({"\ud800": "x"}, "no parameter", id="surrogate-name"),
        pytest.param({"x": [[[[]]]] * 2}, "no parameter", id="unknown"),
    ],
)
def test_arguments_a_state_could_not_hold_are_the_callers_mistake(
    session: Session, arguments: Any, words: str
) -> None:
    reply = session.call("add", arguments)
    assert code(reply) == "invalid_arguments"
    assert words in reply.get("error", {"message": ""})["message"]


def test_depth_is_the_callers_mistake(session: Session) -> None:
    value: Any = []
    for _ in range(100):
        value = [value]
    assert code(session.call("add", {"count": value})) == "invalid_arguments"


def test_a_whole_float_is_an_integer_by_the_time_the_tool_has_it(session: Session) -> None:
    value = session.call("add", {"count": 2.0}).get("parts", [{}])[0]["value"]
    assert (value, type(value)) == (3, int)


def test_notifications_come_in_the_order_of_time_and_things_happen_at_theirs(
    session: Session,
) -> None:
    key = session.call("open_ticket", {"text": "a"}, "user").get("parts", [{}])[0]["text"]
    session.advance(0)
    session.call("open_ticket", {"text": "b"}, "user")
    reply = session.advance(7200)
    told = [
        (one["at"][11:16], one["actor"], one["text"].partition(" ")[2])
        for one in reply.get("notifications", [])
    ]
    assert told == [
        ("09:00", "agent", "is open"), ("09:50", "user", "will lapse"), ("09:50", "user", "will lapse"),
        ("10:00", "agent", "lapsed"), ("10:00", "agent", "lapsed"),
    ]  # fmt: skip
    assert session.state()["tickets"][key]["lapsed"] == "2026-03-01T10:00:00+00:00"
    assert session.advance(0).get("notifications") == []


@pytest.mark.parametrize("text", ["no", "crash"])
def test_a_call_that_did_not_succeed_tells_nobody(session: Session, text: str) -> None:
    session.call("open_ticket", {"text": text}, "user")
    told = [one["text"] for one in session.advance(7200).get("notifications", [])]
    assert not [text for text in told if text.endswith(("is open", "will lapse"))]


def test_what_fails_by_itself_is_the_programs_fault_and_time_stands_there(session: Session) -> None:
    session.call("open_ticket", {"text": "burst"}, "user")
    reply = session.advance(86400)
    assert code(reply) == "crash"
    assert [one["at"][11:16] for one in reply.get("notifications", [])] == [
        "09:00",
        "09:50",
        "10:00",
    ]


def test_time_that_never_passes_is_cut_off(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Desk, "_next_due", lambda self: "2026-03-01T09:00:01+00:00")
    monkeypatch.setattr(Desk, "_fall_due", lambda self: None)
    reply = session.advance(2)
    assert code(reply) == "crash"
    assert "`_fall_due` must settle" in reply.get("error", {"message": ""})["message"]


def test_outboxes_are_bounded(session: Session) -> None:
    assert code(session.call("flood", {})) == "crash"
    assert session.advance(1).get("notifications") == []


@pytest.mark.parametrize(
    "seconds", [-1, float("nan"), float("inf"), True, "5", None, MAX_ADVANCE + 1]
)
def test_a_time_nobody_can_wait_is_refused(session: Session, seconds: Any) -> None:
    before = session.snapshot()
    assert code(session.advance(seconds)) == "invalid_arguments"
    assert session.snapshot() == before


def test_a_snapshot_brings_back_streams_counts_and_what_waits(session: Session) -> None:
    session.call("open_ticket", {"text": "a"}, "user")
    point = session.snapshot()

    def go_on() -> list[Any]:
        calls = [session.call("open_ticket", {"text": text}, "user") for text in "bc"]
        return [
            *calls,
            session.advance(5000),
            session.uses(),
            session.state_hash(),
            session.changes(),
            session.snapshot(),
        ]

    first = go_on()
    session.call("open_ticket", {"text": "d"}, "user")
    session.restore(point)
    assert session.snapshot() == point
    assert go_on() == first
    other = Session(lambda: Desk, TOOLS)
    other.restore(point)
    session = other
    assert go_on() == first


def test_a_recording_replays_and_the_first_difference_is_named() -> None:
    steps: list[dict[str, Any]] = [
        {"op": "reset", "state": {"tickets": {}}, "clock": CLOCK, "seed": 7},
        {"op": "call", "name": "open_ticket", "arguments": {"text": "a"}, "actor": "user"},
        {"op": "advance", "seconds": 4000},
        {"op": "state"},
    ]

    def tape(seed: int) -> list[dict[str, Any]]:
        recorder = Recorder(Session(lambda: Desk, TOOLS))
        for step in steps:
            recorder.play(step | ({"seed": seed} if step["op"] == "reset" else {}))
        assert [entry["step"]["op"] for entry in recorder.tape] == [step["op"] for step in steps]
        return [dict(entry["seen"]) for entry in recorder.tape]

    first = tape(7)
    assert first[1]["uses"] == {"clock": 2, "ids": 1, "randomness": 1}
    assert find_difference(first, tape(7)) is None
    difference = find_difference(first, tape(8))
    assert difference is not None
    assert (difference.step, difference.path) == (1, ("parts", "0", "text"))
    assert str(find_difference(first, first[:-1])) == "step 3, length: recorded 4, now 3"


@pytest.mark.parametrize("seconds", [-1, float("nan")])
def test_nobody_sleeps_backwards(session: Session, seconds: float) -> None:
    before = session.snapshot()
    with pytest.raises(ValueError, match="non-negative"):
        virtual._sleep(seconds)
    assert session.snapshot() == before


def test_a_state_that_comes_back_in_other_types_is_not_restored(session: Session) -> None:
    session.reset({"tickets": {"t": {"until": None, "n": 1}}}, CLOCK, 7)
    point = session.snapshot()
    other = Session(lambda: Rounded, TOOLS)
    with pytest.raises(ProgramFault, match="must keep the state"):
        other.restore(point)


class Rounded(Desk):
    """Makes a float of every integer: equal in Python, other bytes in JSON."""

    def __init__(self, state: dict[str, Any]) -> None:
        super().__init__(state)
        for row in self.tickets.values():
            row["n"] = float(row["n"])
