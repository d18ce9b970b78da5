"""The vigil: one alarm of the driver's that ends a wait which lasts too long, and costs an answer
in time no system call.

It rings four times a second while somebody waits, and is silent while nobody does. The process
that is waited for is charged its processor time from the first ring on: on a busy machine it may get
little of it.
"""

import atexit
import os
import signal
import time
from collections.abc import Callable
from types import FrameType

from envmill.runtime.jail.deadline import PATIENCE
from envmill.runtime.jail.wire import Overdue

TICK = 0.25
"""Seconds between two looks at the deadline."""

_monotonic = time.monotonic
_followed: list[int] = []


def follow(parent: int) -> None:
    """End with the parent, also in the middle of a plan, and where the kernel does not say that it
    died."""
    _followed[:] = [parent]


def check_parent() -> None:
    """End the process when whom it follows is gone."""
    if _followed and os.getppid() != _followed[0]:
        os._exit(0)


class DeadlineTimer:
    """Set when a wait begins, and dismissed when it ends; for a process's main thread."""

    def __init__(self) -> None:
        self._due = 0.0
        """When the wait is looked at; 0 while nobody waits."""
        self._last = self._seconds = 0.0
        """When it is over its time by the clock, and how much processor time it may take."""
        self._clock: int | None = None
        self._mark = -1.0
        """Processor time of the process that is waited for, at the first ring."""
        self._rings = False
        self.on_ring: Callable[[], None] | None = None
        """Called at each ring."""

    def stop(self) -> None:
        """Ring no more: an interpreter on its way out no longer knows what an alarm is for."""
        self._due, self._rings = 0.0, False
        signal.setitimer(signal.ITIMER_REAL, 0)

    def keep(self, seconds: float, until: float, clock: int | None = None) -> None:
        """Raise Overdue after so many seconds of processor time by this clock, or of time without
        one, and no later than `until` on the monotonic clock."""
        due = _monotonic() + seconds
        self._last = min(due + (PATIENCE - 1) * seconds, until)
        self._due = due if due < until else until
        self._seconds, self._clock, self._mark = seconds, clock, -1.0
        if not self._rings:
            self._rings = True
            signal.signal(signal.SIGALRM, self._ring)
            signal.setitimer(signal.ITIMER_REAL, TICK, TICK)

    def dismiss(self) -> None:
        """Nobody waits."""
        self._due = 0.0

    def _ring(self, number: int, frame: FrameType | None) -> None:  # noqa: ARG002
        check_parent()
        if self.on_ring:
            self.on_ring()
        if not self._due:
            # A read elsewhere has a time-out of the socket's, which a signal would start anew each
            # time.
            self.stop()
            return
        spent = self._read_clock()
        if self._mark < 0:
            self._mark = spent
        if (now := _monotonic()) > self._due:
            left = min(self._seconds - TICK - (spent - self._mark), self._last - now)
            if self._clock is None or left <= 0:
                self._due = 0.0
                raise Overdue("no answer before the deadline")
            self._due = now + left

    def _read_clock(self) -> float:
        try:
            return time.clock_gettime(self._clock) if self._clock is not None else 0.0
        except OSError:  # it is gone, and the read will tell
            return 0.0


VIGIL = DeadlineTimer()
atexit.register(VIGIL.stop)
