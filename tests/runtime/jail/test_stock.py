"""Sender and receiver of states agree on what is in stock, small and large, whatever order they come in."""

import random
from typing import Any

from envmill.runtime.jail.stock import PLACES, Known, Stock
from envmill.runtime.start import Start


def test_what_the_sender_names_the_receiver_has() -> None:
    dice, known, stock = random.Random(5), Known(), Stock()
    named = 0
    for _ in range(2_000):
        number = dice.randrange(PLACES + 6)
        # Every fourth is a large one: those drive each other out, and no small one.
        step: dict[str, Any] = {"op": "reset", "key": f"k{number}", "state": {"n": number}, **({"large": True} if number % 4 == 0 else {})}
        if known.holds(step["key"]):
            del step["state"]
            named += 1
        else:
            known.put(step["key"], large=step.get("large", False))
        assert Start().take(stock.fetch(step)) == {"n": number}
    assert named > 500


def test_large_states_are_kept_one_at_a_time() -> None:
    known = Known()
    for number in range(PLACES):
        known.put(f"small{number}")
    assert known.put("a", large=True) == ""
    assert known.put("b", large=True) == "a"
    assert [known.holds(name) for name in ("a", "b", "small0", "")] == [False, True, True, False]
