"""A share of one model's limits: what a process may use of them while others of this machine ask
the same model.

each process: file with calls in flight ─► looked at by all others, ten times a second ─► limits divided by those who ask
"""

import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from envmill.models.process_registry import ProcessRegistry
from schemas.base import digest

LOOK = 0.1
"""Seconds between two looks at the others; a process newly there asks nothing until they had time
to see it."""
_IDLE = 2.0  # seconds without a call in flight or waiting, after which the others may have all
_NOTE = struct.Struct("<Id")  # calls in flight, and when they were last told


@dataclass(frozen=True)
class SharedLoad:
    """Who asks one model now."""

    holders: int = 1
    """Processes, this one included."""
    elsewhere: int = 0
    """Calls the others have in flight."""
    settled: bool = True
    """Whether the others had time to see us."""

    def bound(self, in_flight: int, most: int) -> int:
        """Calls this process may have in flight: its part, reached by no more than its part of what
        is free."""
        if not self.settled:
            return 0
        free = most - self.elsewhere - in_flight
        step = max(free // self.holders, min(free, 1), 0)
        return min(max(most // self.holders, 1), in_flight + step)


class Share:
    """Of one process and model. Clocks of processes on one machine agree, since they count from its
    start."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._presence, self._clock = ProcessRegistry(folder), clock
        self._began = self._looked = clock()
        self._alone = True

    def exchange(self, in_flight: int) -> SharedLoad:
        """Say what we have in flight, and see who else asks."""
        now = self._clock()
        if now - self._looked > _IDLE and not in_flight:
            self._began, self._alone = now, True  # the others have forgotten us
        self._looked = now
        self._presence.publish(_NOTE.pack(in_flight, now))
        asking = [flying for flying, told in self._read_notes() if flying or now - told < _IDLE]
        self._alone = self._alone and not asking
        return SharedLoad(1 + len(asking), sum(asking), self._alone or now - self._began > 2 * LOOK)

    def publish(self, in_flight: int) -> None:
        """Say what we have in flight, and nothing else."""
        self._presence.publish(_NOTE.pack(in_flight, self._clock()))

    def close(self) -> None:
        """Leave the limits to the others."""
        self._presence.close()

    def _read_notes(self) -> list[tuple[int, float]]:
        return [
            _NOTE.unpack(note) for note in self._presence.read_notes() if len(note) == _NOTE.size
        ]


def is_limited(provider: str) -> bool:
    """Whether somebody outside bears the calls of a provider; batches go out at once and are read
    back."""
    return provider not in ("offline", "replay") and not provider.startswith("batch-")


class Shares:
    """The shares of one process, by model. Limits are those of an account, so they are shared
    across runs."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder, self._clock = folder, clock
        self._open: dict[str, Share] = {}

    def of(self, model: str) -> Share:
        """Our share of a model's limits."""
        if model not in self._open:
            self._open[model] = Share(self._folder / digest([model]), self._clock)
        return self._open[model]

    def close(self) -> None:
        """Leave all limits to the others."""
        for share in self._open.values():
            share.close()
        self._open.clear()
