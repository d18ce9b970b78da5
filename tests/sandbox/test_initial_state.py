"""A state read against the one its session began with is what plain reading gives, and shares what
did not change."""

import json
import random
from typing import Any

import pytest

from envmill.sandbox.initial_state import InitialState

STATE: dict[str, Any] = {
    "b": {"k": {"name": 'One, "two"', "n": 1.5}, "z": {"c": {"x": 1}}},
    "a": [1, 2, {"b": 3}],
    "c": {"x": 1},
    "d": 1,
    "e": 'text with ",\\"c\\":{"x":1}" inside, and ünïcode',
    "": {},
}


SMALL: dict[str, Any] = {"": {}, "c": {"x": 1}, "d": 1}


def render(state: Any) -> str:
    """As the jail does."""
    return json.dumps(state, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def change(value: Any, dice: random.Random) -> Any:
    """Somewhere inside, another value."""
    if isinstance(value, dict) and value and dice.random() < 0.8:
        key = dice.choice(sorted(value))
        if dice.random() < 0.2:
            return {name: one for name, one in value.items() if name != key}
        return {
            **value,
            key: change(value[key], dice),
            **({f"{key}{dice.randrange(9)}": key} if dice.random() < 0.2 else {}),
        }
    return dice.choice([12, 1, "x", "", {"x": 1}, [], None, '","c":{"x":1}', 1.5])


def test_it_is_what_plain_reading_gives() -> None:
    dice, start = random.Random(5), InitialState(STATE)
    for _ in range(3000):
        state = STATE
        for _ in range(dice.randrange(4)):
            state = change(state, dice)
        text = render(state)
        assert start.read(text) == json.loads(text), text


def test_only_what_changed_is_read_anew() -> None:
    found = InitialState(STATE).read(render({**STATE, "c": {"x": 2}}))
    assert [name for name in STATE if found[name] is not STATE[name]] == ["c"]


@pytest.mark.parametrize(
    "text",
    [
        '{"":{},"":1}',
        '{"":{},"a":7,"c":5,"d":1,"d":2,"e":"x"}',
        '{"c":5,"c":{"x":1}}',
        ' {"d":1}',
        '{"d":1 }',
        '{"q":1, "d":1}',
        '{"q":1 ,"d":1}',
        '{ "d":1}',
        '{"d":1,"d":1}',
        '{"d":1,"c":{"x":1},"d":1}',
        '{"":{},"d":1,"c":{"x":1}}',
        '{"":{},"c":{"x":1},"d":1,"e":2}',
        '{"d":12}',
        "[]",
        "5",
        "{}",
        '{"q":{"c":{"x":1}}}',
        '{"q":",\\"d\\":1"}',
        '{"q":{"d":1}}',
    ],
)
def test_no_text_of_a_hostile_program_is_read_otherwise(text: str) -> None:
    """Of duplicates the last counts, spaces may stand anywhere, and what looks like a collection
    may stand inside a text or a row."""
    assert InitialState(SMALL).read(text) == json.loads(text)


def test_a_start_of_which_no_text_can_be_made_is_no_help() -> None:
    state: dict[str, Any] = {"a": {1, 2}, "b": 1}
    assert InitialState(state).read('{"a":[1],"b":1}') == {"a": [1], "b": 1}


LARGE: dict[str, Any] = {
    "a": {"x": 1},
    "rows": {f"r{n:03}": {"n": n, "at": {"k": str(n)}} for n in range(100)},
    "z": {"x": 1},
}


def test_of_a_large_collection_only_rows_that_changed_are_read_anew() -> None:
    found = InitialState(LARGE).read(
        render(LARGE | {"rows": LARGE["rows"] | {"r050": {"n": 1}, "r0505": {}}})
    )
    assert found == LARGE | {"rows": LARGE["rows"] | {"r050": {"n": 1}, "r0505": {}}}
    assert [name for name in LARGE["rows"] if found["rows"][name] is not LARGE["rows"][name]] == [
        "r050"
    ]


def test_a_large_collection_is_what_plain_reading_gives() -> None:
    dice, start = random.Random(7), InitialState(LARGE)
    for _ in range(1500):
        state = LARGE
        for _ in range(dice.randrange(5)):
            state = change(state, dice)
        if isinstance(state, dict) and dice.random() < 0.3:
            state = state | {
                "rowsy": dice.choice([LARGE["rows"], {"r099": {"at": {"k": "99"}, "n": 99}}, {}, 5])
            }
        text = render(state)
        assert start.read(text) == json.loads(text), text
