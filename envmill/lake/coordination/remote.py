"""A coordinator for processes of several machines: documents in a database or an object store, and signs of life.

thread ─► beat + 1 in the process's own document, every few seconds
others ─► see a beat that stays the same for `expiry` seconds of their own clock ─► the process is dead

A process that could not beat for two thirds of that time is no longer assured and begins nothing. So clocks may differ by hours; only
their rates must agree. Processes of one home see each other's locks, and need not wait.
"""

import contextlib
import logging
import threading
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from envmill.base.errors import CoordinationError
from envmill.lake.coordination.base import Document, T
from envmill.lake.coordination.process_registry import ProcessRegistry

EXPIRY = 90.0
"""Seconds without a sign of life after which a process counts as dead: longer than a partition that mends itself."""
_BEATS = 6  # in the time of an expiry
_PATIENCE = (
    900.0  # seconds that an unreachable store is asked again: a database may be away for minutes
)
_FIRST_PAUSE, _LONGEST_PAUSE = 0.2, 5.0
_LOG = logging.getLogger(__name__)


class Unreachable(CoordinationError):
    """The store of documents cannot be reached now; asking again may help."""


class Documents(Protocol):
    """Where documents lie. Both methods may be called from any thread."""

    place: str

    def identify(self) -> str:
        """A name that is the same for all that share the documents."""
        ...

    def change(self, name: str, edit: Callable[[Document], T]) -> T:
        """As a coordinator's; Unreachable when asking again may help."""
        ...

    def close(self) -> None:
        """Give up connections."""
        ...


@dataclass(frozen=True)
class _Sign:
    beat: int
    since: float
    """When this beat was first seen."""
    looked: float


class RemoteCoordinator:
    """Of one process."""

    local = False

    def __init__(
        self,
        documents: Documents,
        folder: Path,
        expiry: float = EXPIRY,
        patience: float = _PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.place, self._documents = documents.place, documents
        self._expiry, self._patience, self._clock = expiry, patience, clock
        self.poll = min(1.0, expiry / 20)
        self._node = _name_node(folder)
        self._registry = ProcessRegistry(folder / "processes", f"{self._node}.")
        self._registry.sweep()
        self.own = self._registry.name
        self._signs: dict[str, _Sign] = {}
        self._assured_until = float("-inf")
        self._given_up = False  # once patience was in vain, what follows asks once
        self._over = threading.Event()
        self._beat()
        self.identity = documents.identify()
        self._heart = threading.Thread(target=self._keep_beating, name="envmill-heart", daemon=True)
        self._heart.start()

    def change(self, name: str, edit: Callable[[Document], T]) -> T:
        began, pause = self._clock(), _FIRST_PAUSE
        while True:
            try:
                result = self._documents.change(name, edit)
                self._given_up = False
                return result
            except Unreachable as error:
                passed = self._clock() - began
                if passed > self._patience or self._given_up or self._over.is_set():
                    self._given_up = True
                    raise CoordinationError(
                        f"{self.place}, where the processes of a run keep leases and budgets, could not be reached for {passed:.0f} s "
                        f"({error.message}). Everything finished is saved. Make it reachable, then run again."
                    ) from error
                if pause == _FIRST_PAUSE:
                    _LOG.warning(
                        "%s cannot be reached (%s). It is asked again for %.0f s.",
                        self.place,
                        error.message,
                        self._patience,
                    )
            self._over.wait(pause)
            pause = min(_LONGEST_PAUSE, pause * 2)

    def is_dead(self, process: str) -> bool:
        if process.startswith(f"{self._node}."):
            return process != self.own and self._registry.is_dead(process)
        asked = self._clock()
        beat = self.change(f"processes/{process}", lambda document: document.get("beat"))
        return beat is None or self._is_over(process, beat, asked, self._clock())

    def is_assured(self) -> bool:
        return self._clock() < self._assured_until

    def close(self) -> None:
        if self._over.is_set():
            return
        self._over.set()
        self._heart.join()
        try:
            self._documents.change(f"processes/{self.own}", _empty)
        except CoordinationError as error:
            _LOG.warning(
                "%s: this process could not take its leave (%s); it counts as dead in %.0f s.",
                self.place,
                error,
                self._expiry,
            )
        self._documents.close()
        self._registry.close()

    def _is_over(self, process: str, beat: int, asked: float, answered: float) -> bool:
        """Only time in which we could look counts: after an outage of the store, all others look silent."""
        last = self._signs.get(process)
        if last is None or last.beat != beat or asked - last.looked > self._expiry / 3:
            self._signs[process] = _Sign(beat, answered, answered)
            return False
        self._signs[process] = _Sign(beat, last.since, answered)
        return asked - last.since > self._expiry

    def _keep_beating(self) -> None:
        while not self._over.wait(self._expiry / _BEATS):
            try:
                self._beat()
            except CoordinationError as error:
                _LOG.warning("%s: no sign of life could be given (%s).", self.place, error.message)

    def _beat(self) -> None:
        began = self._clock()
        self._documents.change(f"processes/{self.own}", _count_up)
        self._assured_until = began + self._expiry * 2 / 3


def _empty(document: Document) -> None:
    document.clear()


def _count_up(document: Document) -> None:
    document["beat"] = document.get("beat", 0) + 1


def _name_node(folder: Path) -> str:
    """A home's name among homes, drawn once."""
    folder.mkdir(parents=True, exist_ok=True)
    path, drawn = folder / "node", folder / f"node.{uuid.uuid4().hex}"
    if not path.exists():
        drawn.write_text(uuid.uuid4().hex[:12])
        with contextlib.suppress(FileExistsError):
            path.hardlink_to(drawn)
        drawn.unlink()
    return path.read_text()
