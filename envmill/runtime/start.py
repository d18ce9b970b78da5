"""The state a session started from: checked once, handed out as a fresh copy at every reset.

Marshal's fourth version writes what it meets twice, as the names of fields, once: it loads six times quicker than the second, and what
it loads shares them. The same value may come out in other bytes, but the same bytes are always the same value.
"""

import marshal

from envmill.runtime.canonical import Json, plain

VERSION = 4


class Start:
    """Remembers the last start, since episodes of one scenario share theirs."""

    def __init__(self) -> None:
        self._given = pack({})

    def take(self, state: dict[str, Json] | bytes) -> dict[str, Json]:
        """A copy of the state in exact JSON types; NotJson when it cannot be one. Bytes are what `pack` made."""
        if isinstance(state, bytes):
            self._given = state
            return marshal.loads(state)
        try:
            # Ten times quicker than walking it; when in doubt, it is walked.
            given = marshal.dumps(state, VERSION)
        except ValueError:
            given = b""
        if given != self._given:
            # Only the bytes are kept: as objects, a thousand sessions would hold their start twice.
            self._given = pack(state)
        return marshal.loads(self._given)

    @property
    def size(self) -> int:
        """Bytes of it, packed."""
        return len(self._given)

    def state(self) -> dict[str, Json]:
        """The state, detached."""
        return marshal.loads(self._given)


def pack(state: dict[str, Json]) -> bytes:
    """A state in the form that is quickest to construct from again; NotJson when it cannot be one."""
    return marshal.dumps(plain(state), VERSION)
