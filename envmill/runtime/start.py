"""The state a session started from: checked once, handed out as a fresh copy at every reset.

Marshal's fourth version writes what it meets twice, as the names of fields, once: it loads six
times quicker than the second, and what it loads shares them. The same value may come out in other
bytes, but the same bytes are always the same value.
"""

import marshal

from envmill.runtime.canonical import Json, plain

VERSION = 4


class Packed:
    """A state in the form that is quickest to construct from again, and perhaps a copy made ahead
    for whoever is first."""

    def __init__(self, content: bytes) -> None:
        self.content = content
        self._ahead: dict[str, Json] | None = None

    def copy(self) -> dict[str, Json]:
        """The state, detached."""
        ahead, self._ahead = self._ahead, None
        return marshal.loads(self.content) if ahead is None else ahead

    def unpack(self) -> None:
        """Make a copy ahead: who is forked from here has it as its own."""
        self._ahead = marshal.loads(self.content)


class StartCache:
    """Remembers the last start, since episodes of one scenario share theirs."""

    def __init__(self) -> None:
        self._given = pack({})
        self._packed: Packed | None = None

    def hold(self, state: dict[str, Json] | Packed) -> None:
        """Remember it; NotJson when it cannot be one."""
        self._packed = state if isinstance(state, Packed) else None
        if isinstance(state, Packed):
            self._given = state.content
            return
        try:
            # Ten times quicker than walking it; when in doubt, it is walked.
            given = marshal.dumps(state, VERSION)
        except ValueError:
            given = b""
        if given != self._given:
            # Only the bytes are kept: as objects, a thousand sessions would hold their start twice.
            self._given = pack(state)

    def copy(self) -> dict[str, Json]:
        """What is remembered, in exact JSON types."""
        return marshal.loads(self._given) if self._packed is None else self._packed.copy()

    def take(self, state: dict[str, Json] | Packed) -> dict[str, Json]:
        """Both."""
        self.hold(state)
        return self.copy()

    @property
    def content(self) -> bytes:
        """What is remembered, packed: the same bytes are the same state."""
        return self._given

    @property
    def size(self) -> int:
        """Bytes of it, packed."""
        return len(self._given)

    def state(self) -> dict[str, Json]:
        """The state, detached."""
        return marshal.loads(self._given)


def pack(state: dict[str, Json]) -> bytes:
    """A state in the form that is quickest to construct from again; NotJson when it cannot be
    one."""
    return marshal.dumps(plain(state), VERSION)
