"""A state that is like the last one is read in part, and believed no sooner than one that is read
whole."""

import json
from random import Random
from typing import Any

import pytest

from envmill.runtime.jail import reading
from envmill.runtime.jail.reading import StateReading
from envmill.runtime.jail.wire import BadFrame, decode

STATE: dict[str, Any] = {
    "a": {f"k{number}": {"n": number, "t": 'x,}"é', "l": [1, {"z": None}]} for number in range(12)},
    "b": [1, 2, 3],
    "c": {"few": {"n": 1}},
    "d": {f"m{number}": number for number in range(9)},
}


def render(state: Any) -> str:
    return json.dumps(state, ensure_ascii=False, separators=(",", ":"))


def is_accepted(one: StateReading, text: str) -> bool:
    try:
        one.check(text)
    except BadFrame:
        return False
    return True


def is_json(text: str) -> bool:
    try:
        decode(text.encode())
    except (BadFrame, UnicodeEncodeError):
        return False
    return True


def change(dice: Random) -> str:
    """A state of which rows were changed, added or taken away."""
    state = json.loads(render(STATE))
    for _ in range(dice.randrange(1, 4)):
        rows = state[dice.choice("ad")]
        key = dice.choice(list(rows) or ["new"])
        if dice.random() < 0.3:
            rows.pop(key, None)
        else:
            rows[dice.choice((key, "k11a", "zz"))] = dice.choice((7, {"n": "new"}, [], "}"))
    return render(state)


def break_up(dice: Random, text: str) -> str:
    """A few characters of it taken away, doubled, or exchanged for others."""
    for _ in range(dice.randrange(1, 3)):
        begin = dice.randrange(len(text))
        end = min(len(text), begin + dice.randrange(12))
        text = (
            text[:begin]
            + dice.choice(("", ",", "}", "{", '"', "\ud800", " ", text[begin:end] * 2))
            + text[end:]
        )
    return text


@pytest.mark.parametrize("seed", range(8))
def test_what_is_accepted_is_json_and_what_is_json_is_accepted(seed: int) -> None:
    dice, one = Random(seed), StateReading()
    one.check(render(STATE))
    for _ in range(250):
        text = change(dice)
        text = break_up(dice, text) if dice.random() < 0.7 else text
        assert is_accepted(one, text) == is_json(text), text


@pytest.mark.parametrize(
    "middle",
    ["", ",", ",,", " ", '"k0":1', '"k0":1,,', '"k0":1},"d":{"m0":1,', '"k0":{"n":1}}', '"k0":[[[[1]]]', '"k0":1, ', '"k0":1,"k0":2,',
     '"k0":1}},"d":{"e":{"m0":1,', '"k0":1}},"":{"":{"m0":1,', '"k0":1}}},"d":{"e":{"f":{"m0":1,', '"k0":1}}{"e":{"m0":1,'],
)  # fmt: skip
def test_what_lies_between_the_cuts_cannot_close_what_it_did_not_open(middle: str) -> None:
    one, text = StateReading(), render(STATE)
    one.check(text)
    row = render(STATE["a"]["k0"])
    other = text.replace(f'"k0":{row},', middle, 1)
    assert is_accepted(one, other) == is_json(other)


@pytest.mark.parametrize(
    "middle", ['"x":1},"y":{"z":1,', '"x":1}},"y":{"z":{"q":1,', '"x":1}{"z":1,', '"x":1,']
)
def test_nor_between_two_collections(middle: str) -> None:
    one, text = StateReading(), render(STATE)
    one.check(text)
    other = text.replace('"b":', f'{middle}"b":', 1)
    assert is_accepted(one, other) == is_json(other)


def test_only_what_differs_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    one, seen = StateReading(), list[int]()
    one.check(render(STATE))
    one.check(render(STATE).replace('"n":3', '"n":33'))
    read = reading._read
    monkeypatch.setattr(
        reading, "_read", lambda text, *levels: (seen.append(len(text)), read(text, *levels))[1]
    )
    one.check(render(STATE).replace('"n":3', '"n":34'))
    one.check(render(STATE))
    assert len(seen) == 1
    assert seen[0] < len(render(STATE)) / 4


def test_a_text_that_is_much_larger_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the fuzzer: 30 MB were counted as a part, refused, and counted again as a whole."""
    one, seen = StateReading(), list[int]()
    one.check(render(STATE))
    read = reading._read
    monkeypatch.setattr(
        reading, "_read", lambda text, *levels: (seen.append(len(text)), read(text, *levels))[1]
    )
    assert not is_accepted(one, render(STATE).replace('"n":3', f'"n":[{"0," * 200_000}]', 1))
    assert len(seen) == 1


def test_nothing_may_be_nested_deeper_because_it_is_read_by_itself() -> None:
    deep = 1100
    one, text = StateReading(), render(STATE)
    one.check(text)
    for levels in range(deep - 200, deep):
        other = text.replace('"n":3', f'"n":{"[" * levels}{"]" * levels}')
        assert not is_accepted(one, other) or is_json(other), levels


@pytest.mark.parametrize("place", ["first", "row", "collection"])
@pytest.mark.parametrize(("levels", "accepted"), [(60, True), (300, False)])
def test_a_key_that_stands_twice_hides_no_depth(place: str, levels: int, accepted: bool) -> None:
    """A parser keeps the second value, and goes down into both."""
    one, text = StateReading(), render(STATE)
    deep = "[" * levels + "]" * levels
    if place != "first":
        one.check(text)
    begin = {"first": '{"a"', "row": '"k3"', "collection": '"b"'}[place]
    twin = f'"twin":{deep},"twin":"[[,",'
    assert (
        is_accepted(
            one, text.replace(begin, f'{{{twin}"a"' if place == "first" else twin + begin, 1)
        )
        == accepted
    )


def test_brackets_in_texts_are_not_levels() -> None:
    assert is_accepted(
        StateReading(), render({"a": "[" * 500 + '\\"{' * 500, "b": {"[" * 100: [["]" * 300]]}})
    )
