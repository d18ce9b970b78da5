"""Holes in memory, filled before a fork: what a child makes then lies together, instead of here and
there on pages it shared.

Such a page is copied first, however little is written: with the holes, a session had a quarter more
pages of its own.
"""

from itertools import repeat

_kept: list[object] = []
_POOL = 16 * 1024
"""Objects of one size come from pools of this many bytes, from 3.10 on; where it is otherwise,
fewer holes are found, and that is all."""
_HEADER = 48
_MOST = 20_000
_NEAR = 8
"""Places within which four in a row lie: the numbers of their places take some for a moment."""


def fill() -> None:
    """Take every free place in the pools in use, for good."""
    for size in range(16, 513, 16):
        for _ in repeat(None, _MOST):
            one = _make(size)
            _kept.append(one)
            if id(one) % _POOL != _HEADER:
                continue
            # Names, no list and no range: those have sizes of their own, and would take the places
            # that are looked at. A size whose end is not seen takes a megabyte of fresh memory,
            # which every fork copies.
            two, three, four = _make(size), _make(size), _make(size)
            _kept.append(two)
            _kept.append(three)
            _kept.append(four)
            if id(one) < id(two) < id(three) < id(four) < id(one) + _NEAR * size:
                # The beginning of a pool is free when all of it is: there are no more holes of this
                # size.
                break


def _make(size: int) -> object:
    if size == 16:
        return object()
    if size == 32:
        return _HALF + _HALF
    # What a bytes object has around its content is 33 bytes.
    return bytes(size - 33)


_HALF = 0.5
