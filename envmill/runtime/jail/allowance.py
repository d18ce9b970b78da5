# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What the frames of one request may cost the driver, which has no control group: their bytes, and
the objects that decoding makes of them.

frame ──count brackets and commas──► within what is left? ──► decode
"""

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

from envmill.runtime.canonical import MAX_DEPTH
from envmill.runtime.jail.wire import LIMIT, BadFrame

DEEPEST = MAX_DEPTH + 16
"""Levels of a state or an observation. A session takes 64; a snapshot in an observation has a dozen
around it."""
MOST_PIECES = 4 * 1024 * 1024
"""Pieces of one frame or state. A state of 100,000 rows of eight fields has 1.2 million."""
MOST_BYTES = 4 * LIMIT
"""Bytes of all frames of a request: what is more than one frame may hold is refused in the end, and
a plan may be played twice."""
_OBJECT = 4
"""An object takes as much memory as four arrays or texts."""
_PIECE = 64
"""Bytes of memory for a piece, about."""
SMALL = 2 * DEEPEST
"""Bytes of a frame in which nothing can be nested too deep: it is not counted, since a request has
as many as it has steps, at most."""
_LIGHT = 1024
"""Bytes of a frame whose pieces are not counted: thousands of them cost less than one state."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"?', re.DOTALL)
_RUN = re.compile(rb'(?:[^"]*+"(?:[^"\\]++|\\.)*+"?){1,8192}+|[^"]++', re.DOTALL)
"""Some thousand strings and what lies between them: to take out millions at once takes a
gigabyte."""


class FrameBudget:
    """What is left for the request that is served."""

    def __init__(self) -> None:
        self._bytes = self._pieces = 0
        self.brackets = 0
        """Of the last frame that was counted; those in texts count, too."""
        self.cost = 0
        """Bytes of memory, about, for all that was heard since this process began. Light frames are
        left out."""

    def renew(self) -> None:
        """Another request begins."""
        self._bytes, self._pieces = MOST_BYTES, 2 * MOST_PIECES

    def spend(self, payload: bytes) -> None:
        """A frame came; BadFrame when it is too much."""
        size = len(payload)
        self._bytes -= size
        objects, arrays = payload.count(b"{"), payload.count(b"[")
        self.brackets = objects + arrays
        if size > _LIGHT:
            pieces = _OBJECT * objects + arrays + payload.count(b",")
            if pieces > MOST_PIECES:
                pieces = count_pieces(payload)
            self._pieces -= pieces
            self.cost += size + _PIECE * pieces
        if self._bytes < 0 or self._pieces < 0:
            raise BadFrame("more frames than one request is given")


ALLOWANCE = FrameBudget()
"""The driver serves one request at a time."""
ALLOWANCE.renew()


def count_pieces(payload: bytes) -> int:
    """Pieces of JSON in a payload, or BadFrame when they are too many."""
    pieces = _count(payload)
    if pieces <= MOST_PIECES:
        return pieces
    # Texts may hold as many brackets and commas as they like: a whole state is one. They are left
    # out where it matters.
    if payload.count(b'"') > 4 * MOST_PIECES or (pieces := _count_outside(payload)) > MOST_PIECES:
        raise BadFrame(f"more than {MOST_PIECES} pieces of JSON")
    return pieces


def is_deeper(value: Any, levels: int) -> bool:
    """Whether arrays and objects are nested deeper than so many levels."""
    return any(islice(count_levels(value), levels, None))


def count_levels(value: Any) -> Iterator[int]:
    """How many arrays and objects there are at each level, from the outermost."""
    level = [value] if type(value) is dict or type(value) is list else []
    while level:
        yield len(level)
        level = [
            inner
            for outer in level
            for inner in (outer.values() if type(outer) is dict else outer)
            if type(inner) is dict or type(inner) is list
        ]


def strip_strings(payload: bytes) -> Iterator[bytes]:
    """JSON without its strings, in pieces."""
    return (_STRING.sub(b"", run.group()) for run in _RUN.finditer(payload))


def _count_outside(payload: bytes) -> int:
    """The same without what stands in strings."""
    return sum(map(_count, strip_strings(payload)))


def _count(payload: bytes) -> int:
    return _OBJECT * payload.count(b"{") + payload.count(b"[") + payload.count(b",")
