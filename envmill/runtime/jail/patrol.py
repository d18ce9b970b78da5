"""The patrol: sessions that nobody waits for are stopped, so that none computes at the cost of its
neighbours.

a wait lasts 0.25 s ──ring──► every session but the one that is waited for is stopped
a stopped session is called ──► it goes on
a session was found computing while nobody waited ──► from then on it is stopped as soon as it has answered
"""

import contextlib
import signal
import time

SLACK = 0.5
"""Seconds of computing beyond what was waited for: a process is started, and gives back a large
state after it has answered."""


class PatrolledSession:
    """What the patrol knows of one process."""

    def __init__(self, pid: int, pidfd: int) -> None:
        # clockid of a process's own time, as clock_getcpuclockid(3) makes it.
        self.clock, self._pidfd = ~pid << 3 | 2, pidfd
        self.awake = self.suspect = False
        self._stopped = False
        self.waited = 0.0
        """Seconds that somebody waited for it."""

    def wake(self) -> None:
        """It is called, and goes on."""
        self.awake = True
        PATROL.awake.add(self)
        if self._stopped:
            self._stopped = False
            self._send(signal.SIGCONT)

    def stop(self) -> None:
        """Nobody waits for it."""
        self._send(signal.SIGSTOP)
        self.awake, self._stopped = False, True
        PATROL.awake.discard(self)
        with contextlib.suppress(OSError):
            self.suspect = self.suspect or time.clock_gettime(self.clock) > self.waited + SLACK

    def leave(self) -> None:
        """It was killed."""
        PATROL.awake.discard(self)
        self._pidfd = -1

    def _send(self, number: int) -> None:
        if self._pidfd >= 0:
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)


class Patrol:
    """All sessions of a driver that may be computing."""

    def __init__(self) -> None:
        self.awake: set[PatrolledSession] = set()
        self.waited: PatrolledSession | None = None
        """The one that is waited for."""

    def stop_others(self) -> None:
        """Stop every other one."""
        for session in [*self.awake]:
            if session is not self.waited:
                session.stop()


PATROL = Patrol()
