"""A state rendered piece by piece has the bytes of one rendered whole, whatever was done to it in
between."""

import copy
import random
from typing import Any

import pytest

from envmill.runtime.canonical import MAX_DEPTH, MAX_STATE, NotJson, fingerprint, plain, render
from envmill.runtime.serialising import StateSerialiser
from tests.soak import count

VALUES: tuple[Any, ...] = (
    0,
    1,
    True,
    False,
    None,
    1.0,
    -0.0,
    "1",
    "ü",
    [],
    {},
    [1],
    (1,),
    [True],
    {"a": 1},
    {"b": {"c": [1.5]}},
    10**15,
)


def draw(dice: random.Random) -> Any:
    return copy.deepcopy(dice.choice(VALUES))


def mutate(state: dict[str, Any], dice: random.Random) -> None:
    name, key, roll = dice.choice("abc"), f"k{dice.randrange(20)}", dice.random()
    rows = state.get(name)
    if roll < 0.1:
        state.pop(name, None)
    elif roll < 0.2:
        state[name] = draw(dice)
    elif roll < 0.3 or not isinstance(rows, dict):
        state[name] = {f"k{number}": draw(dice) for number in range(dice.randrange(20))}
    elif roll < 0.4:
        rows.pop(key, None)
    elif roll < 0.5:
        state[name] = dict(reversed(rows.items()))
    elif isinstance(rows.get(key), dict):
        rows[key]["deep"] = draw(dice)
    else:
        rows[key] = draw(dice)


@pytest.mark.soak(area="sandbox")
def test_piecewise_is_whole() -> None:
    dice, serialiser = random.Random(3), StateSerialiser()
    state: dict[str, Any] = {}
    hashes: set[str] = set()
    for _ in range(count(3_000, 100_000)):
        mutate(state, dice)
        whole = render(plain(state))
        assert serialiser.render(state) == whole
        assert serialiser.fingerprint(state) == fingerprint(whole)
        hashes.add(fingerprint(whole))
    assert len(hashes) > 500


ROWS = {f"k{number}": {"n": number} for number in range(20)}


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        pytest.param({**ROWS, "k3": {"n": {1}}}, "at rows.k3.n: a value of type set", id="set"),
        pytest.param({**ROWS, "k3": {"n": float("nan")}}, "at rows.k3.n: NaN", id="nan"),
        pytest.param({**ROWS, "k3": {"n": 2**63}}, "at rows.k3.n: an integer", id="huge"),
        pytest.param(
            {**ROWS, "k3": "\ud800"}, "at rows.k3: a string holds a lone surrogate", id="surrogate"
        ),
        pytest.param({**ROWS, "\ud800": 1}, "surrogate", id="surrogate-key"),
        pytest.param({**ROWS, 3: 1}, "at rows: the key 3 is of type int", id="key"),
        pytest.param({**ROWS, "k3": "x" * (MAX_STATE + 1)}, "more than the", id="size"),
    ],
)
def test_a_fault_is_named_and_mended_state_is_rendered_again(
    bad: dict[Any, Any], words: str
) -> None:
    serialiser = StateSerialiser()
    good = serialiser.render({"rows": ROWS, "other": 1})
    for _ in range(2):
        with pytest.raises(NotJson) as fault:
            serialiser.fingerprint({"rows": bad, "other": 1})
        assert words in str(fault.value)
    assert serialiser.render({"rows": ROWS, "other": 1}) == good
    assert serialiser.fingerprint({"rows": ROWS, "other": 1}) == fingerprint(good)


@pytest.mark.parametrize("rows", [1, 20])
def test_depth_is_counted_from_the_root(rows: int) -> None:
    def build(depth: int) -> dict[str, Any]:
        value: Any = {}
        for _ in range(depth - 3):
            value = [value]
        return {"rows": {str(number): value for number in range(rows)}}

    assert StateSerialiser().render(build(MAX_DEPTH)) == render(plain(build(MAX_DEPTH)))
    for attempt in (StateSerialiser().render, plain):
        with pytest.raises(NotJson, match="nested deeper"):
            attempt(build(MAX_DEPTH + 1))
