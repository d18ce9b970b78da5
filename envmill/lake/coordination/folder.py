"""A coordinator for the processes of one machine: files in a folder, each changed under a lock that the kernel frees."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path

import orjson

from envmill.base.errors import CoordinationError
from envmill.lake.coordination.base import Document, T
from envmill.lake.coordination.process_registry import ProcessRegistry


class FolderCoordinator:
    """Of one process. It keeps nothing open but the file that shows that it lives."""

    local = True
    identity = ""
    poll = 0.1

    def __init__(self, folder: Path) -> None:
        self.place, self._folder = str(folder), folder
        self._registry = ProcessRegistry(folder / "processes")
        self._registry.sweep()
        self.own = self._registry.name

    def change(self, name: str, edit: Callable[[Document], T]) -> T:
        path = self._folder / f"{name}.json"
        try:
            handle = _open(path)
        except OSError as error:
            raise _cannot_write(path, error) from error
        try:
            fcntl.flock(
                handle, fcntl.LOCK_EX
            )  # holders let go within microseconds, or are dead and have let go
            before = os.pread(handle, os.fstat(handle).st_size, 0)
            document = _parse(before)
            result = edit(document)
            after = orjson.dumps(document)
            if after != before.rstrip():
                _write(handle, path, after.ljust(len(before)))
            return result
        finally:
            os.close(handle)

    def is_dead(self, process: str) -> bool:
        return process != self.own and self._registry.is_dead(process)

    def is_assured(self) -> bool:
        return True

    def close(self) -> None:
        self._registry.close()


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
    try:
        return os.open(path, flags, 0o644)
    except FileNotFoundError:
        path.parent.mkdir(parents=True, exist_ok=True)
        return os.open(path, flags, 0o644)


def _write(handle: int, path: Path, content: bytes) -> None:
    """One write, never shorter than what was there: a kill leaves the old document or the new one."""
    try:
        written = os.pwrite(handle, content, 0)
    except OSError as error:
        raise _cannot_write(path, error) from error
    if written < len(content):
        raise _cannot_write(path, "the disk is full")


def _cannot_write(path: Path, why: object) -> CoordinationError:
    return CoordinationError(
        f"{path}, which the processes of a run share, cannot be written ({why}). "
        "Free space there, or set ENVMILL_HOME elsewhere; then run again."
    )


def _parse(text: bytes) -> Document:
    """A document torn by a power cut is empty: leases are then free, and what was spent is in the ledger."""
    try:
        return orjson.loads(text) if text.strip() else {}
    except ValueError:
        return {}
