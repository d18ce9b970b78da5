"""What one client may take of the server: a share of its time. Who has used it up waits, and holds
nobody else up."""

import time
from collections.abc import Callable

SHARE = 1 / 32
"""Of a second, that a session earns in each second. A rollout of a model needs less than a
fiftieth."""
SAVED = 1.0
"""Seconds that it may save, and that it begins with: forty steps of a scripted policy in turn take
a tenth of it."""
RATE = 20_000_000
"""Bytes of replies that count as a second: they are written, read and sent by everybody's
process."""


class ClientAllowance:
    """Of one session."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._left, self._at = SAVED, clock()

    def find_wait(self) -> float:
        """Seconds until the next message may be served."""
        return max(0.0, -self._renew() / SHARE)

    def spend(self, seconds: float, size: int) -> None:
        """What a message took of the jail and the judge, and how long its reply is."""
        self._left = self._renew() - seconds - size / RATE

    def _renew(self) -> float:
        now = self._clock()
        self._left, self._at = min(SAVED, self._left + SHARE * (now - self._at)), now
        return self._left
