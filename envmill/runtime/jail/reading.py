"""The states one session shows, read once by the driver to see that they are JSON: of a state like
the last one, only what differs.

last ──{ "rows": { "r1": {…}, │ "r2": {…}, │ "r3": {…} } }──► the same before the one cut and behind the other?
this ──{ "rows": { "r1": {…}, │ "r2": {!}, │ "r3": {…} } }──► then it is JSON if what lies between them is
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from itertools import islice
from typing import Any

from envmill.runtime.jail.allowance import DEEPEST, count_levels, count_pieces, strip_strings
from envmill.runtime.jail.wire import BadFrame, Message, decode, render

_ROWS = 8
"""Rows from which a collection is cut between them."""
_REMEMBERED = 64 * 1024
"""Characters of a state above which it is read anew each time: the driver holds one for each of a
thousand sessions."""
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))


class StateReading:
    """Remembers a state that was read, and where it can be cut."""

    def __init__(self) -> None:
        self._text = ""
        self._cuts: list[tuple[int, int]] | None = None

    def check(self, text: str) -> None:
        """BadFrame when it is not an object's text."""
        if text and text == self._text:
            return
        # A much larger one is read whole, and not its part first.
        if not (self._text and len(text) <= 2 * _REMEMBERED and self._differs_inside(text)):
            _read(text)
            self._text, self._cuts = text if len(text) <= _REMEMBERED else "", None

    def _differs_inside(self, text: str) -> bool:
        """Whether it is the remembered one but for some rows of one collection, and those can be
        read."""
        if self._cuts is None:
            self._cuts = list(_find_cuts(self._text))
        last, cuts = self._text, self._cuts
        first = bisect_right(cuts, False, key=lambda cut: not text.startswith(last[: cut[0]])) - 1
        after = bisect_left(cuts, True, lo=first + 1, key=lambda cut: text.endswith(last[cut[0] :]))
        if first < 0 or after == len(cuts) or cuts[first][1] != cuts[after][1]:
            return False
        begin, end = cuts[first][0], len(text) - len(last) + cuts[after][0]
        if begin >= end:
            # Rows are missing, or it repeats itself.
            return begin == end
        if text[begin] != '"' or text[end - 1] != ",":
            return False
        try:
            # One brace around it: what closes that one ends the text. With two, it could close both
            # and open two others.
            _read(f"{{{text[begin : end - 1]}}}", DEEPEST - (cuts[first][1] > 0))
        except BadFrame:
            # It is read whole, and refused for what it is.
            return False
        return True


def _read(text: str, levels: int = DEEPEST) -> None:
    try:
        encoded = text.encode()
    except UnicodeEncodeError:
        raise BadFrame("a state that is no text") from None
    count_pieces(encoded)
    state = decode(encoded)
    brackets = text.count("{") + text.count("[")
    if brackets <= levels:
        return
    found = [*islice(count_levels(state), levels + 1)]
    # Of a key that stands twice, the first value is not in the state, but whoever reads the text
    # goes down into it.
    if len(found) > levels or (sum(found) < brackets and _is_text_deeper(encoded, levels)):
        raise BadFrame(f"a state nested deeper than {DEEPEST} levels")


def _is_text_deeper(encoded: bytes, levels: int) -> bool:
    left = b"".join(strip_strings(encoded)).translate(_BRACKETS, _NO_BRACKETS)
    for _ in range(levels):
        # The innermost pairs go: one level, wherever it is.
        left = left.replace(b"[]", b"")
    return bool(left)


def _find_cuts(text: str) -> Iterator[tuple[int, int]]:
    """Where members begin, and whose they are: 0 for the state, a number for a collection's rows.
    None where the text is not canonical."""
    state = decode(text.encode())
    if render(state).decode() != text:
        return
    place = 1
    for number, (name, value) in enumerate(state.items(), 1):
        yield place, 0
        place += _measure(name) + 1
        if type(value) is dict and len(value) >= _ROWS:  # pyright: ignore[reportUnknownArgumentType]
            yield from _find_rows(value, place + 1, number)  # pyright: ignore[reportUnknownArgumentType]
        place += _measure(value) + 1


def _find_rows(rows: Message, place: int, number: int) -> Iterator[tuple[int, int]]:
    for key, row in rows.items():
        yield place, number
        place += _measure(key) + _measure(row) + 2


def _measure(value: Any) -> int:
    return len(render(value).decode())
