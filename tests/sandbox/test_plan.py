"""An observation is the same record whichever way it was read."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from envmill.runtime.jail.operations import EMPTY
from envmill.sandbox import Observation

USUAL: dict[str, Any] = EMPTY | {
    "parts": [{"type": "json", "value": 1}],
    "state_hash": "ab",
    "state": "{}",
}


def test_a_usual_one_has_every_field() -> None:
    assert Observation.read(USUAL, {"a": 1}) == Observation(
        "ok", [{"type": "json", "value": 1}], "", "", "ab", {"a": 1}
    )


def test_one_with_more_has_it() -> None:
    more = {
        "uses": {"ids": 2},
        "notifications": [{"at": "x"}],
        "delay": 0.5,
        "weather": ["delay"],
        "denied": ["openat"],
    }
    assert Observation.read(USUAL | more, None) == Observation(
        "ok", USUAL["parts"], "", "", "ab", None, **more
    )


def test_what_nobody_knows_is_left_out() -> None:
    assert vars(Observation.read(USUAL | {"reward": 1}, None)) == vars(
        Observation.read(USUAL, None)
    )


def test_two_share_nothing() -> None:
    first, second = Observation.read(USUAL, None), Observation.read(USUAL, None)
    assert first.weather is not second.weather
    assert first.uses is not second.uses


def test_it_stays_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Observation.read(USUAL, None).code = "x"  # pyright: ignore[reportAttributeAccessIssue]
