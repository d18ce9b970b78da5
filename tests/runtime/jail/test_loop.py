"""When a session sends: often enough that the driver never takes two slow steps for a hang, seldom
enough to be fast."""

from typing import Any, cast

import pytest

from envmill.runtime.jail import loop
from envmill.runtime.jail.loop import SessionLoop
from envmill.runtime.jail.operations import SOILED
from envmill.runtime.jail.wire import Channel, Message, decode
from envmill.runtime.program import ProgramImporter

RESET: Message = {"op": "reset", "state": {}, "clock": "2026-03-01T09:00:00Z", "seed": 1}
CALL: Message = {"op": "call", "name": "greet", "arguments": {}, "actor": "agent"}


class Greeter:
    """A program that is none: written here, so it may run here."""

    def __init__(self, state: dict[str, Any]) -> None:
        self.state = state

    def greet(self) -> str:
        return "hello"


class Greeting:
    """What loads it."""

    schema = ""

    def load(self) -> type[Greeter]:
        return Greeter


class Recorder(Channel):
    """A channel that keeps what was written."""

    def __init__(self) -> None:
        super().__init__(-1)
        self.frames: list[Message] = []

    def write(self, frame: bytes) -> None:
        assert int.from_bytes(frame[:4], "little") == len(frame) - 4
        self.frames.append(decode(frame[4:]))


@pytest.fixture
def recorder() -> Recorder:
    return Recorder()


def play(recorder: Recorder, steps: list[Message]) -> list[tuple[int, bool]]:
    """Observations per frame, and whether it was the last."""
    tool: Any = {
        "name": "greet",
        "description": "",
        "parameters": {"type": "object"},
        "effect": "query",
    }
    SessionLoop(recorder, cast(ProgramImporter, Greeting()), [tool]).play(9, steps)
    assert {frame["seq"] for frame in recorder.frames} == {9}
    return [(len(frame["observations"]), frame["done"]) for frame in recorder.frames]


def test_quick_calls_go_together_after_the_reset(recorder: Recorder) -> None:
    assert play(recorder, [RESET, *[CALL] * 50]) == [(1, False), (50, True)]


def test_what_was_kept_back_goes_before_a_reset(recorder: Recorder) -> None:
    assert play(recorder, [RESET, CALL, CALL, RESET, CALL]) == [
        (1, False),
        (2, False),
        (1, False),
        (1, True),
    ]


def test_one_step_is_one_frame(recorder: Recorder) -> None:
    assert play(recorder, [RESET]) == [(1, True)]


def test_slow_calls_go_one_by_one(recorder: Recorder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_PROGRESS", -1.0)
    assert play(recorder, [RESET, CALL, CALL]) == [(1, False), (1, False), (1, True)]


def test_large_replies_go_before_they_fill_a_frame(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "_FRAME", 100)
    assert len(play(recorder, [RESET, *[CALL] * 6])) > 3


def test_a_reset_in_place_is_refused_where_the_interpreter_changed(
    recorder: Recorder, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = RESET | {"settle": True}
    monkeypatch.setattr(loop.interpreter_check, "find_changed", lambda: "json")
    play(recorder, [again, CALL, RESET, CALL])
    refused, lost, fresh, called = (
        one for frame in recorder.frames for one in frame["observations"]
    )
    assert refused == lost
    assert (refused["code"], refused["message"]) == (SOILED, "The program changed json.")
    assert (fresh, len(called["parts"])) == ({"state_hash": fresh["state_hash"]}, 1)
