"""A state that a look brings, read against the one its session began with: what did not change is
not read again, but shared.

text ──the same from the front, from the back──► collections of the start, the very objects
     └──what is left between─────────────────► parsed
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

import orjson

from schemas.base import Json, is_object

_ROWS = 64
"""Rows from which a collection that changed is worth reading by its rows."""


class InitialState:
    """The state a session began with, serialised as states leave the jail: keys sorted, nothing
    between."""

    def __init__(self, state: Mapping[str, Json]) -> None:
        self._state = state
        self._pieces = [(name, _render(name, state[name])) for name in sorted(state)]
        self._inner: dict[str, InitialState] = {}

    def read(self, text: str) -> Json:
        """What parsing the text gives. Half a megabyte of which nothing changed takes a hundredth
        of the time."""
        if text[:1] != "{" or text[-1:] != "}":
            return orjson.loads(text)
        front, begin = self._take_front(text)
        if begin >= len(text):
            return front
        back, end = self._take_back(text, begin, len(front))
        left = [name for name, _ in self._pieces[len(front) : len(self._pieces) - len(back)]]
        # A name that stands there twice is the last one's, as for any reader.
        return {**front, **self._read_middle(left, text[begin:end]), **back}

    def _read_middle(self, names: Sequence[str], text: str) -> dict[str, Json]:
        """Collections one by one, where those that are known stand there and no others; else all
        together."""
        if any(_is_large(self._state[name]) for name in names):
            with suppress(orjson.JSONDecodeError, ValueError):
                return dict(self._read_each(names, text))
        return orjson.loads(f"{{{text}}}")

    def _read_each(self, names: Sequence[str], text: str) -> Iterator[tuple[str, Json]]:
        """A cut in the wrong place leaves a brace too many or too few on both sides of it: neither
        can be read."""
        for place, name in enumerate(names):
            head = _render_name(name)
            if not text.startswith(head):
                raise ValueError("another collection")
            end = (
                text.index(f",{_render_name(names[place + 1])}", len(head))
                if place + 1 < len(names)
                else len(text)
            )
            yield name, self._read_one(name, text[len(head) : end])
            text = text[end + 1 :]

    def _read_one(self, name: str, text: str) -> Json:
        """A large collection by its rows, in the same way."""
        rows = self._state[name]
        if not _is_large(rows):
            return orjson.loads(text)
        if name not in self._inner:
            self._inner[name] = InitialState(rows)
        return self._inner[name].read(text)

    def _take_front(self, text: str) -> tuple[dict[str, Json], int]:
        """Collections that stand there as they were, and where the rest begins."""
        found: dict[str, Json] = {}
        place, last = 1, len(text) - 1
        for name, piece in self._pieces:
            end = place + len(piece)
            if not text.startswith(piece, place) or not (text[end : end + 1] == "," or end == last):
                break
            found[name] = self._state[name]
            place = end + 1
        return found, place

    def _take_back(self, text: str, begin: int, taken: int) -> tuple[dict[str, Json], int]:
        """The same from the end, and where what is left ends."""
        found: dict[str, Json] = {}
        end = len(text) - 1
        for name, piece in reversed(self._pieces[taken:]):
            place = end - len(piece)
            if (
                place < begin
                or not text.startswith(piece, place)
                or (place > begin and text[place - 1] != ",")
            ):
                break
            found[name] = self._state[name]
            end = max(begin, place - 1)
        return dict(reversed(found.items())), end


def _is_large(value: Json) -> bool:
    return is_object(value) and len(value) >= _ROWS


def _render_name(name: str) -> str:
    return f"{orjson.dumps(name).decode()}:"


def _render(name: str, value: Json) -> str:
    """A state that no text can be made of was not sent either: nothing of it is found again."""
    try:
        return _render_name(name) + orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError:
        return "\0"
