"""Sender and receiver of states agree on what is in stock, small and large, whatever order they
come in."""

import random
from typing import Any

import pytest

from envmill.runtime.jail.state_cache import PLACES, KnownStates, StateCache
from envmill.runtime.start import StartCache


def test_what_the_sender_names_the_receiver_has() -> None:
    dice, known, stock = random.Random(5), KnownStates(), StateCache()
    named = 0
    for _ in range(2_000):
        number = dice.randrange(PLACES + 6)
        # Every fourth is a large one: those drive each other out, and no small one.
        step: dict[str, Any] = {
            "op": "reset",
            "key": f"k{number}",
            "state": {"n": number},
            **({"large": True} if number % 4 == 0 else {}),
        }
        if known.holds(step["key"]):
            del step["state"]
            named += 1
        else:
            known.put(step["key"], large=step.get("large", False))
        assert StartCache().take(stock.fetch(step)) == {"n": number}
    assert named > 500


def test_large_states_are_kept_one_at_a_time() -> None:
    known = KnownStates()
    for number in range(PLACES):
        known.put(f"small{number}")
    assert known.put("a", large=True) == ""
    assert known.put("b", large=True) == "a"
    assert [known.holds(name) for name in ("a", "b", "small0", "")] == [False, True, True, False]


def test_a_state_learned_ahead_is_handed_out_once_and_copied_from_then_on() -> None:
    stock = StateCache()
    stock.learn({"op": "reset", "key": "k", "state": {"rows": {"a": [1]}}})
    first = StartCache().take(stock.fetch({"op": "reset", "key": "k"}))
    first["rows"]["a"].append(2)
    for _ in range(2):
        assert StartCache().take(stock.fetch({"op": "reset", "key": "k"})) == {"rows": {"a": [1]}}


def test_what_cannot_be_learned_leaves_the_stock_as_it_was() -> None:
    stock, known = StateCache(), KnownStates()
    for number in range(PLACES):
        stock.learn({"key": f"k{number}", "state": {"n": number}})
        known.put(f"k{number}")
    with pytest.raises(ValueError, match="not JSON"):
        stock.learn({"key": "bad", "state": {"n": {1}}})
    assert all(
        StartCache().take(stock.fetch({"key": f"k{number}"})) == {"n": number}
        for number in range(PLACES)
    )
    other = known.copy()
    other.put("more")
    assert known.holds("k0")
    assert not other.holds("k0")
