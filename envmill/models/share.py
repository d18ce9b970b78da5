"""A share of one model's limits: what a process may use of them while other processes ask the same model.

each process: calls in flight, complaints heard ─► one document ─► looked at by all others ─► limits divided by those who ask

A complaint that one process heard slows all of them: the limit is the account's.
"""

import contextlib
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from envmill.base.errors import CoordinationError
from envmill.lake.coordination.base import Coordinator, Document
from schemas.base import digest

LOOK = 0.1
"""Seconds between two looks at the others; a process newly there asks nothing until they had time to see it."""
_REMOTE_LOOK = 1.0  # where a look takes a request or more
_IDLE = 2.0  # seconds without a call in flight or waiting, after which the others may have all


@dataclass(frozen=True)
class SharedLoad:
    """Who asks one model now."""

    holders: int = 1
    """Processes, this one included."""
    elsewhere: int = 0
    """Calls the others have in flight."""
    settled: bool = True
    """Whether the others had time to see us."""
    complaints: int = 0
    """How often the vendor complained to the others since we last looked."""
    pause: float = 0.0
    """Seconds that it asked them to wait."""

    def bound(self, in_flight: int, most: int) -> int:
        """Calls this process may have in flight: its part, reached by no more than its part of what
        is free."""
        if not self.settled:
            return 0
        free = most - self.elsewhere - in_flight
        step = max(free // self.holders, min(free, 1), 0)
        return min(max(most // self.holders, 1), in_flight + step)


@dataclass(frozen=True)
class _Note:
    """What one process says of itself."""

    in_flight: int
    told: float
    """By its own clock."""
    complaints: int = 0
    pause: float = 0.0


class Share:
    """Of one process and model."""

    def __init__(
        self,
        coordinator: Coordinator,
        model: str,
        clock: Callable[[], float] = time.monotonic,
        thread: ThreadPoolExecutor | None = None,
    ) -> None:
        self._coordinator, self._document = coordinator, f"shares/{digest([model])}"
        self._clock, self._thread = clock, thread
        self._look = LOOK if coordinator.local else _REMOTE_LOOK
        self._began = self._looked = clock()
        self._alone = True
        self._in_flight = self._complaints = 0
        self._pause_until = float("-inf")
        self._seen: dict[str, tuple[_Note, float]] = {}
        self._load = SharedLoad(settled=False)
        self._heard, self._heard_pause = 0, 0.0
        self._met = float("-inf")
        self._closed = threading.Event()
        self._telling = threading.Lock()
        self._untold = self._meeting = False

    def exchange(self, in_flight: int) -> SharedLoad:
        """Say what we have in flight, and see who else asks. A remote look is not waited for: the last one counts."""
        now = self._clock()
        if now - self._looked > _IDLE and not in_flight:
            self._began, self._alone = now, True  # the others have forgotten us
        self._looked, self._in_flight = now, in_flight
        if self._coordinator.local:
            self._meet()
        elif now - self._met >= self._look:
            self._meet_soon()
        load, self._heard, self._heard_pause = self._load, 0, 0.0
        self._load = SharedLoad(load.holders, load.elsewhere, load.settled)
        return load

    def publish(self, in_flight: int) -> None:
        """Say what we have in flight, and nothing else."""
        self._in_flight = in_flight
        if self._coordinator.local:
            self._coordinator.change(self._document, self._announce)
        else:
            self._meet_soon()

    def complain(self, pause: float) -> None:
        """The vendor complained, and wants to be left alone for so long."""
        self._complaints += 1
        self._pause_until = self._clock() + pause
        self.publish(self._in_flight)

    def stop(self) -> None:
        """Look no more."""
        self._closed.set()

    def close(self) -> None:
        """Leave the limits to the others."""
        with contextlib.suppress(CoordinationError):  # once we are dead they know
            self._coordinator.change(
                self._document, lambda document: document.pop(self._coordinator.own, None)
            )

    def _meet_soon(self) -> None:
        with self._telling:
            self._untold = True
            if not self._meeting and self._thread is not None:
                self._meeting = True
                self._thread.submit(self._meet_until_told)

    def _meet_until_told(self) -> None:
        """In a thread: what changes during a look is told by the next one."""
        while True:
            with self._telling:
                if not self._untold or self._closed.is_set():
                    self._meeting = False
                    return
                self._untold = False
            self._met = self._clock()
            with contextlib.suppress(CoordinationError):  # the last look holds on
                self._meet()
            self._closed.wait(self._look / 2)

    def _meet(self) -> None:
        notes = self._coordinator.change(self._document, self._announce)
        now = self._clock()
        others = {name: note for name, note in notes.items() if name != self._coordinator.own}
        ages = {name: self._age(name, note, now) for name, note in others.items()}
        dead = [
            name
            for name in others
            if (self._coordinator.local or ages[name] > _IDLE) and self._coordinator.is_dead(name)
        ]
        if dead:
            self._coordinator.change(
                self._document, lambda document: [document.pop(name, None) for name in dead]
            )
        living = {name: note for name, note in others.items() if name not in dead}
        self._note_complaints(living)
        self._seen = {name: (note, now - ages[name]) for name, note in living.items()}
        asking = [
            note.in_flight for name, note in living.items() if note.in_flight or ages[name] < _IDLE
        ]
        self._alone = self._alone and not asking
        settled = self._alone or now - self._began > 2 * self._look
        self._load = SharedLoad(
            1 + len(asking), sum(asking), settled, self._heard, self._heard_pause
        )

    def _announce(self, document: Document) -> dict[str, _Note]:
        now = self._clock()
        document[self._coordinator.own] = [
            self._in_flight,
            now,
            self._complaints,
            max(0.0, self._pause_until - now),
        ]
        return {name: _Note(*said) for name, said in document.items()}

    def _age(self, name: str, note: _Note, now: float) -> float:
        """Clocks of one machine agree, since they count from its start; of another's we know when we first saw what it told."""
        if self._coordinator.local:
            return now - note.told
        last = self._seen.get(name)
        return now - last[1] if last is not None and last[0].told == note.told else 0.0

    def _note_complaints(self, living: dict[str, _Note]) -> None:
        """Complaints that others heard since we looked last."""
        for name, note in living.items():
            last = self._seen.get(name)
            if last is not None and note.complaints > last[0].complaints:
                self._heard += note.complaints - last[0].complaints
                self._heard_pause = max(self._heard_pause, note.pause)


def is_limited(provider: str) -> bool:
    """Whether somebody outside bears the calls of a provider; batches go out at once and are read
    back."""
    return provider not in ("offline", "replay") and not provider.startswith("batch-")


class Shares:
    """The shares of one process, by model. Limits are those of an account, so they are shared
    across runs."""

    def __init__(
        self, coordinator: Coordinator, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._coordinator, self._clock = coordinator, clock
        self._thread = None if coordinator.local else ThreadPoolExecutor(8, "envmill-shares")
        self._open: dict[str, Share] = {}

    def of(self, model: str) -> Share:
        """Our share of a model's limits."""
        if model not in self._open:
            self._open[model] = Share(self._coordinator, model, self._clock, self._thread)
        return self._open[model]

    def close(self) -> None:
        """Leave all limits to the others."""
        for share in self._open.values():
            share.stop()
        if self._thread is not None:
            self._thread.shutdown(cancel_futures=True)
        for share in self._open.values():
            share.close()
        self._open.clear()
