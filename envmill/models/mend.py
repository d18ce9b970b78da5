"""The JSON objects in a reply: prose and fences around them are passed over, slips of the pen
mended, nothing guessed.

text ─► each outermost `{"` ─► read, else mend and read ─► objects, or why the first one that looked like one could not be read
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from schemas.base import Json, canonical_json, is_object

_START = re.compile(r"\{(?=\s*[\"'}])")
"""A brace that opens an object; `{name}` in prose does not."""
_FENCE = re.compile(r"^[ \t]*```", re.MULTILINE)
_PIECES = re.compile(r'"(?:[^"\\]|\\.)*"|[^"]+|"', re.DOTALL)
"""Strings, and what stands between them."""
_SLIPS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r",(\s*[}\]])"), r"\1"),
    (re.compile(r"\bTrue\b"), "true"),
    (re.compile(r"\bFalse\b"), "false"),
    (re.compile(r"\bNone\b"), "null"),
)
_MOST, _MOST_BROKEN = 64, 4
"""Objects looked at in one reply, and broken ones among them: each of those costs a pass over the
rest of the text."""


@dataclass
class FoundObjects:
    """What a text holds."""

    objects: list[dict[str, Json]] = field(default_factory=list[dict[str, Json]])
    """Outermost objects, in order."""
    fault: str = ""
    """Why the first broken one could not be read."""


def find_objects(text: str) -> FoundObjects:
    """Objects inside a broken one are not taken for replies; the next code block is looked at
    again."""
    found, place, broken = FoundObjects(), 0, 0
    while len(found.objects) < _MOST and broken < _MOST_BROKEN:
        start = _START.search(text, place)
        if start is None:
            break
        read = _read_at(text, start.start())
        if isinstance(read, str):
            found.fault, broken = found.fault or read, broken + 1
            fence = _FENCE.search(text, start.end())
            if fence is None:
                break
            place = fence.end()
        else:
            found.objects.append(read[0])
            place = read[1]
    return found


def load_object(text: str) -> dict[str, Json] | str:
    """A text that is one object and nothing else, as it stands: what a tool is called with is not
    mended."""
    try:
        value: Json = _DECODER.decode(text)
        canonical_json(value).encode()
    except (ValueError, RecursionError) as error:
        return str(error) or type(error).__name__
    return value if is_object(value) else "it is no JSON object"


def _read_at(text: str, start: int) -> tuple[dict[str, Json], int] | str:
    """The object and where it ends."""
    try:
        return _decode(text, start)
    except (ValueError, RecursionError) as error:
        fault = str(error) or type(error).__name__
    try:
        value, _ = _decode(_mend(text[start:]), 0)
        return value, _end_of(text, start)
    except (ValueError, RecursionError):
        return fault


def _decode(text: str, start: int) -> tuple[dict[str, Json], int]:
    value, end = _DECODER.raw_decode(text, start)
    canonical_json(
        value
    ).encode()  # NaN and half a surrogate pair are read without a word, and could not be stored
    return value, end


def _refuse_twins(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """The later of two equal keys would win in silence."""
    value = dict(pairs)
    if len(value) < len(pairs):
        names = sorted(name for name, _ in pairs)
        twin = next(one for one, other in pairwise(names) if one == other)
        raise ValueError(f"the key {twin!r} stands twice in one object")
    return value


_DECODER = json.JSONDecoder(object_pairs_hook=_refuse_twins, strict=False)
"""Line breaks inside strings are let through: models write programs so."""


def _mend(text: str) -> str:
    """Trailing commas and Python's constants, outside strings."""
    return "".join(
        piece if piece.startswith('"') else _mend_between(piece) for piece in _PIECES.findall(text)
    )


def _mend_between(piece: str) -> str:
    for slip, right in _SLIPS:
        piece = slip.sub(right, piece)
    return piece


def _end_of(text: str, start: int) -> int:
    """Where the braces that open at `start` are closed again; the text before mending is as long as
    nobody counted."""
    depth, place = 0, start
    for piece in _PIECES.finditer(text, start):
        if piece[0].startswith('"'):
            continue
        for place, step in _steps(piece):
            depth += step
            if not depth:
                return place + 1
    return place + 1


def _steps(piece: re.Match[str]) -> Iterator[tuple[int, int]]:
    for offset, letter in enumerate(piece[0], start=piece.start()):
        if letter in "{}":
            yield offset, 1 if letter == "{" else -1
