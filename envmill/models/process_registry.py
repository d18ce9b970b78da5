"""Presence: processes that share something know of each other by a file each, locked for as long as
its process lives."""

import contextlib
import fcntl
import os
import uuid
from collections.abc import Iterator
from pathlib import Path

from envmill.lake.lease import try_lock

_MOST = 64  # bytes of a note


class ProcessRegistry:
    """Ours among the processes of a folder. The kernel frees the lock of one that was killed."""

    def __init__(self, folder: Path) -> None:
        self.name = uuid.uuid4().hex
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        young = folder / f"{self.name}.young"
        self._file = os.open(young, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        young.rename(
            self._path(self.name)
        )  # locked before it bears its name: unlocked it would be taken for a dead one's

    def publish(self, note: bytes) -> None:
        """What the others may know of us; notes are of one length."""
        os.pwrite(self._file, note, 0)

    def read_notes(self) -> Iterator[bytes]:
        """What every other living process says; what dead ones left is removed."""
        for path in self._folder.glob("*.alive"):
            if path.stem == self.name:
                continue
            with contextlib.suppress(FileNotFoundError), path.open("r+b") as file:
                if try_lock(file.fileno()):
                    path.unlink()
                else:
                    yield file.read(_MOST)

    def is_dead(self, name: str) -> bool:
        """Whether nobody lives under a name."""
        try:
            with self._path(name).open("r+b") as file:
                return try_lock(file.fileno())
        except FileNotFoundError:
            return True

    def bury(self, name: str) -> None:
        """Remove what a dead process left."""
        self._path(name).unlink(missing_ok=True)

    def close(self) -> None:
        """Gone, as far as the others can tell."""
        self.bury(self.name)
        os.close(self._file)

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.alive"
