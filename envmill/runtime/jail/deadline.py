"""The soft deadline of a step: an alarm that interrupts what runs too long, and costs quick steps
no system call.

One alarm stays pending across steps. When it rings early for the step that runs by then, it is set
again for the rest.
"""

import signal
import time
from types import FrameType

# Kept from before the clock becomes virtual.
_monotonic = time.monotonic
_setitimer = signal.setitimer


class TimeUp(BaseException):
    """The soft deadline passed. No Exception, so that a tool's `except Exception` does not swallow
    it."""


class Deadline:
    """One process's alarm."""

    def __init__(self) -> None:
        self._due = 0.0
        """When the running step is over its time; 0 between steps."""
        self._rings = -1.0
        """When the pending alarm rings; 0 when none is pending; below while nobody listens, and
        none may be set."""

    def install(self) -> None:
        """Take SIGALRM; until then no step is interrupted."""
        signal.signal(signal.SIGALRM, self._ring)
        self._rings = 0.0

    def begin(self, seconds: float) -> None:
        """A step starts that may take so long."""
        due = _monotonic() + seconds
        if not self._rings or self._rings > due:
            self._rings = due
            _setitimer(signal.ITIMER_REAL, seconds)
        self._due = due

    def end(self) -> None:
        """The step is over; a late alarm must not reach our own code."""
        self._due = 0.0

    def _ring(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        self._rings = 0.0
        if not self._due:
            return
        left = self._due - _monotonic()
        if left <= 0:
            self._due = 0.0
            raise TimeUp
        self._rings = self._due
        _setitimer(signal.ITIMER_REAL, left)
