"""Lanes: where sessions run. Each is a jail with a judge; one more takes the environments that hold
others up.

take(environment) ──► the lane with the fewest sessions, or the patient one ──► begin, call, judge ──► give back
a call fails and took long ──► its environment begins on the patient lane from now on
a jail is gone ──► its lane is replaced; sessions on others know nothing of it
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from threading import Lock

from .envrun import RunEngine

SLOW = 0.2
"""Seconds: a call that failed after so long has kept others waiting."""
QUARANTINE = 600.0
"""Seconds for which an environment with such a call begins on the patient lane."""
_NICE = 10
"""Of the patient lane: who waits there has the processors that others leave."""
_CALLERS = 3
"""Threads of a lane that call and judge: a verdict holds up neither calls nor the next verdict's
calls."""


class Lane:
    """A jail with a judge, and the sessions that live on it. One request at a time is in the jail,
    another at the judge."""

    def __init__(self, *, patient: bool = False) -> None:
        self.engine = RunEngine(apart=True, nice=_NICE if patient else 0)
        self.patient = patient
        self.live = 0
        self.turn, self.judging = Lock(), Lock()

    @cached_property
    def openers(self) -> ThreadPoolExecutor:
        """One thread that begins sessions, for servers: of many that begin at once, calls go
        between."""
        return ThreadPoolExecutor(1, "opening")

    @cached_property
    def callers(self) -> ThreadPoolExecutor:
        """Threads that call and judge, for servers."""
        return ThreadPoolExecutor(_CALLERS, "calling")

    def close(self) -> None:
        """End every session, the jails, the judge and the threads."""
        for name in ("openers", "callers"):
            if name in self.__dict__:
                self.__dict__[name].shutdown(wait=False)
        self.engine.close()


class Lanes:
    """So many lanes for everybody. With more than one there is a patient one, too."""

    def __init__(self, count: int = 1, clock: Callable[[], float] = time.monotonic) -> None:
        self.shared = [Lane() for _ in range(count)]
        self.patient = Lane(patient=True) if count > 1 else None
        self.replaced = 0
        """Lanes whose jail failed."""
        self._clock = clock
        self._lock = Lock()
        self._until: dict[str, float] = {}
        self._leaving: list[Lane] = []
        """Their jail failed. Sessions on them may still come to an end."""

    @property
    def quarantined(self) -> list[str]:
        """Environments that begin on the patient lane."""
        return [environment for environment, until in self._until.items() if until > self._clock()]

    def take(self, environment: str) -> Lane:
        """A lane for one session more."""
        with self._lock:
            slow = self.patient if self._until.get(environment, 0.0) > self._clock() else None
            lane = slow or min(self.shared, key=lambda one: one.live)
            lane.live += 1
            return lane

    def give_back(self, lane: Lane) -> None:
        """A session on it has ended."""
        with self._lock:
            lane.live -= 1
            ended = [one for one in self._leaving if one.live <= 0]
            self._leaving = [one for one in self._leaving if one.live > 0]
        for one in ended:
            one.close()

    def quarantine(self, environment: str) -> None:
        """A call in it failed and held others up."""
        if self.patient:
            with self._lock:
                self._until[environment] = self._clock() + QUARANTINE

    def replace(self, lane: Lane) -> None:
        """Its jail is gone: the next session has another."""
        with self._lock:
            if lane is self.patient:
                self.patient = Lane(patient=True)
            elif lane in self.shared:
                self.shared[self.shared.index(lane)] = Lane()
            else:
                return
            self.replaced += 1
            self._leaving.append(lane)

    def close(self) -> None:
        """End them all."""
        for lane in [*self.shared, *self._leaving, *([self.patient] if self.patient else [])]:
            lane.close()
