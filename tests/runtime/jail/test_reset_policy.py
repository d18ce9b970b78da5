"""A proof lasts until a fresh process answers an episode with other bytes: that ends it and is
told, an outage ends it and is not."""

from typing import Any

import pytest

from envmill.runtime.jail import reset_policy
from envmill.runtime.jail.operations import EMPTY, SOILED
from envmill.runtime.jail.process import ProcessDied
from envmill.runtime.jail.reset_policy import DRAWN, EpisodeLog, ResetPolicy, drain_leaks, is_drawn
from envmill.runtime.jail.wire import Message

RESET: Message = {"op": "reset", "state": {}, "clock": "", "seed": 0}
CALL: Message = {"op": "call", "name": "look", "arguments": {}, "actor": "agent"}


LATE = EMPTY | {"outcome": "failure", "code": "timeout"}


def answer(value: object) -> list[Message]:
    return [EMPTY | {"parts": [{"type": "json", "value": value}]}]


class Process:
    """Answers what it is given, message by message."""

    def __init__(self, *messages: Any) -> None:
        self.messages = list(messages)
        self.asked: list[tuple[list[str], str]] = []

    def play(self, steps: list[Message], until: float, hashes: str = "each") -> list[Message]:
        self.asked.append(([step["op"] for step in steps], hashes))
        found = self.messages.pop(0)
        if isinstance(found, ProcessDied):
            raise found
        return found


@pytest.fixture
def tape() -> EpisodeLog:
    drain_leaks()
    made = EpisodeLog(fresh=False, hashes="last")
    made.add([RESET, CALL], [EMPTY, *answer(1)], 0.01)
    made.add([CALL], answer(2), 0.01)
    return made


def repeat(tape: EpisodeLog, *messages: Any) -> tuple[str, list[Message]]:
    standing = ResetPolicy("p", "proven")
    standing.repeat(Process(*messages), tape)  # pyright: ignore[reportArgumentType]
    return standing.verdict, drain_leaks()


def test_the_same_bytes_keep_the_proof(tape: EpisodeLog) -> None:
    process, standing = Process([EMPTY, *answer(1)], answer(2)), ResetPolicy("p", "proven")
    standing.repeat(process, tape)  # pyright: ignore[reportArgumentType]
    assert (standing.verdict, drain_leaks()) == ("proven", [])
    assert process.asked == [(["reset", "call"], "last"), (["call"], "last")]


@pytest.mark.parametrize("value", [3, 2.0, "2", None])
def test_other_bytes_end_it_and_are_told_once(tape: EpisodeLog, value: object) -> None:
    assert repeat(tape, [EMPTY, *answer(1)], answer(value)) == (
        "refuted",
        [{"program": "p", "step": "look"}],
    )
    assert drain_leaks() == []


def test_true_is_not_one(tape: EpisodeLog) -> None:
    """Python calls them equal."""
    assert repeat(tape, [EMPTY, *answer(True)], answer(2)) == (
        "refuted",
        [{"program": "p", "step": "look"}],
    )


def test_a_step_for_which_the_machine_was_too_busy_ends_it_and_tells_nothing(
    tape: EpisodeLog,
) -> None:
    assert repeat(tape, [EMPTY, *answer(1)], [LATE]) == ("refuted", [])


def test_a_process_that_dies_ends_it_and_tells_nothing(tape: EpisodeLog) -> None:
    assert repeat(tape, ProcessDied("killed", "It died.", [])) == ("refuted", [])


@pytest.mark.parametrize(
    ("answers", "told"),
    [
        pytest.param([EMPTY, *answer(1)], [], id="same"),
        pytest.param([EMPTY, *answer(9)], [{"program": "p", "step": "look"}], id="other"),
        pytest.param([EMPTY, LATE], [], id="too busy"),
        pytest.param([EMPTY | {"outcome": "failure", "code": SOILED}] * 2, [], id="seen in time"),
    ],
)
def test_a_trial_after_the_proof_tells_what_did_harm(
    answers: list[Message], told: list[Message]
) -> None:
    drain_leaks()
    record = EpisodeLog(fresh=True)
    record.add([RESET, CALL], [EMPTY, *answer(1)], 0.01)
    standing = ResetPolicy("p", "proven", [record])
    standing.try_out(Process(answers))  # pyright: ignore[reportArgumentType]
    assert (standing.verdict, drain_leaks()) == (
        "proven" if answers[0] == EMPTY and answers[1:] == answer(1) else "refuted",
        told,
    )


def test_an_episode_can_be_repeated_unless_it_failed_or_holds_a_snapshot(tape: EpisodeLog) -> None:
    assert tape.can_be_repeated()
    tape.add([{"op": "snapshot"}], [EMPTY], 0.01)
    assert not tape.can_be_repeated()
    failed = EpisodeLog(fresh=False)
    failed.add([RESET, CALL], [EMPTY, EMPTY | {"outcome": "failure"}], 0.01)
    assert not failed.can_be_repeated()


def test_one_of_so_many_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = sum(is_drawn() for _ in range(DRAWN * 400))
    assert 280 < drawn < 520  # six standard deviations
    monkeypatch.setattr(reset_policy, "DRAWN", 1)
    assert is_drawn()


@pytest.mark.parametrize(
    ("seconds", "record", "repeated"), [(0.1, True, True), (1.0, False, True), (6.0, False, False)]
)
def test_an_episode_that_takes_its_time_is_no_record_and_is_drawn_all_the_same(
    seconds: float, record: bool, repeated: bool
) -> None:
    slow = EpisodeLog(fresh=True)
    slow.add([RESET, CALL], [EMPTY, *answer(1)], seconds)
    assert (slow.is_record(), slow.can_be_repeated()) == (record, repeated)
