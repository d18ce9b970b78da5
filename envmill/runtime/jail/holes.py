"""Holes in memory, filled before a fork: what a child makes then lies together, instead of here and there on pages it shared.

Such a page is copied first, however little is written: with the holes, a session had a quarter more pages of its own.
"""

_kept: list[object] = []
_POOL = 16 * 1024
"""Objects of one size come from pools of this many bytes, from 3.10 on; where it is otherwise, fewer holes are found, and that is all."""
_HEADER = 48
_MOST = 20_000
_ROW = 4


def fill() -> None:
    """Take every free place in the pools in use, for good."""
    for size in range(16, 513, 16):
        for number in range(_MOST):
            row = [_make(size, number)]
            if id(row[0]) % _POOL == _HEADER:
                row += [_make(size, number + place) for place in range(1, _ROW)]
                if all(id(one) == id(row[0]) + place * size for place, one in enumerate(row)):
                    # The beginning of a pool is free when all of it is: there are no more holes of this size.
                    break
            _kept.extend(row)


def _make(size: int, number: int) -> object:
    if size == 16:
        return object()
    if size == 32:
        return number + 0.5
    # What a bytes object has around its content is 33 bytes.
    return bytes(size - 33)
