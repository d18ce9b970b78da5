"""Shakes free memory, so that an order taken from addresses comes out differently where it used to
come out the same."""

from typing import Any

_SIZES = range(48, 513, 16)
"""Every size class of CPython's small-object allocator."""
_EACH = 600


def shuffle_memory(seed: int) -> None:
    """Take many small blocks and give them back in another order: the next objects get addresses in
    that order."""
    blocks: list[Any] = [bytes(size - 33) for size in _SIZES for _ in range(_EACH)]
    objects: list[Any] = [object() for _ in range(_EACH)]
    rows: list[Any] = [{} for _ in range(_EACH)]
    pairs: list[Any] = [(place,) for place in range(_EACH)]
    for pile in (blocks, objects, rows, pairs):
        _scatter(pile, seed)
        pile.clear()


def _scatter(pile: list[Any], seed: int) -> None:
    # Fisher-Yates over a small congruential generator: the random module is the program's, and
    # stays untouched.
    state = seed & 0x7FFFFFFF or 1
    for place in range(len(pile) - 1, 0, -1):
        state = (state * 1103515245 + 12345) & 0x7FFFFFFF
        other = state % (place + 1)
        pile[place], pile[other] = pile[other], pile[place]
