"""A state that a look brings, read against the one its session began with: what did not change is not read again, but shared.

text ──the same from the front, from the back──► collections of the start, the very objects
     └──what is left between─────────────────► parsed
"""

from collections.abc import Mapping

import orjson

from schemas.base import Json


class Start:
    """The state a session began with, spelled as states leave the jail: keys sorted, nothing between."""

    def __init__(self, state: Mapping[str, Json]) -> None:
        self._state = state
        self._pieces = [(name, _spell(name, state[name])) for name in sorted(state)]

    def read(self, text: str) -> Json:
        """What parsing the text gives. Half a megabyte of which nothing changed takes a hundredth of the time."""
        if text[:1] != "{" or text[-1:] != "}":
            return orjson.loads(text)
        front, begin = self._take_front(text)
        if begin >= len(text):
            return front
        back, end = self._take_back(text, begin, len(front))
        middle: Json = orjson.loads(f"{{{text[begin:end]}}}") if begin < end else {}
        # A name that stands there twice is the last one's, as for any reader.
        return {**front, **middle, **back}

    def _take_front(self, text: str) -> tuple[dict[str, Json], int]:
        """Collections that stand there as they were, and where the rest begins."""
        found: dict[str, Json] = {}
        place = 1
        for name, piece in self._pieces:
            end = place + len(piece)
            if not text.startswith(piece, place) or text[end : end + 1] not in (",", "}"):
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
            if place < begin or not text.startswith(piece, place) or (place > begin and text[place - 1] != ","):
                break
            found[name] = self._state[name]
            end = max(begin, place - 1)
        return dict(reversed(found.items())), end


def _spell(name: str, value: Json) -> str:
    """A state that no text can be made of was not sent either: nothing of it is found again."""
    try:
        return f"{orjson.dumps(name).decode()}:{orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()}"
    except TypeError:
        return "\0"
