"""The soft deadline of a step: an alarm that interrupts what runs too long, and costs quick steps
no system call.

A step is charged its processor time: on a busy machine an honest one may wait for others longer than
it computes. What waits without computing is interrupted after `PATIENCE` times as long by the clock.

One alarm stays pending across steps. When it rings early for the step that runs by then, it is set
again for the rest.
"""

import signal
import time
from types import FrameType

PATIENCE = 5
"""How many times its processor time a step may take by the clock."""
_SOONEST = 0.01
"""Seconds to the next look, at least."""
# Kept from before the clock becomes virtual.
_monotonic, _process_time = time.monotonic, time.process_time
_setitimer = signal.setitimer


class TimeUp(BaseException):
    """The soft deadline passed. No Exception, so that a tool's `except Exception` does not swallow
    it."""


class Deadline:
    """One process's alarm."""

    def __init__(self) -> None:
        self._due = 0.0
        """When the running step is looked at; 0 between steps."""
        self._last = self._spent = 0.0
        """When it is over its time, by the clock and by the processor time of the process."""
        self._rings = -1.0
        """When the pending alarm rings; 0 when none is pending; below while nobody listens, and
        none may be set."""

    def install(self) -> None:
        """Take SIGALRM; until then no step is interrupted."""
        signal.signal(signal.SIGALRM, self._ring)
        self._rings = 0.0

    def begin(self, seconds: float) -> None:
        """A step starts that may take so many seconds of processor time."""
        due = _monotonic() + seconds
        self._last = due + (PATIENCE - 1) * seconds
        self._spent = _process_time() + seconds
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
        now = _monotonic()
        if now >= self._due:
            left = min(self._spent - _process_time(), self._last - now)
            if left <= 0:
                self._due = 0.0
                raise TimeUp
            self._due = now + max(left, _SOONEST)
        self._rings = self._due
        _setitimer(signal.ITIMER_REAL, self._due - now)
