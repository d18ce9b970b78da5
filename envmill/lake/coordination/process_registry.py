"""Processes of one machine know of each other by a file each, locked for as long as its process lives."""

import fcntl
import os
import uuid
from pathlib import Path

from envmill.lake.coordination.locking import try_lock


class ProcessRegistry:
    """Ours among the processes of a folder. The kernel frees the lock of one that was killed."""

    def __init__(self, folder: Path, prefix: str = "") -> None:
        self.name = f"{prefix}{uuid.uuid4().hex}"
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        young = folder / f"{self.name}.young"
        self._file = os.open(young, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        young.rename(
            self._path(self.name)
        )  # locked before it bears its name: unlocked it would be taken for a dead one's

    def is_dead(self, name: str) -> bool:
        """Whether nobody lives under a name."""
        try:
            with self._path(name).open("r+b") as file:
                return try_lock(file.fileno())
        except FileNotFoundError:
            return True

    def sweep(self) -> None:
        """Remove what killed processes left: a name without a file is dead, too."""
        for path in self._folder.glob("*.alive"):
            if path.stem != self.name and self.is_dead(path.stem):
                path.unlink(missing_ok=True)

    def close(self) -> None:
        """Gone, as far as the others can tell."""
        self._path(self.name).unlink(missing_ok=True)
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _path(self, name: str) -> Path:
        return self._folder / f"{name}.alive"
