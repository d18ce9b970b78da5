"""Control groups of boxes: memory, processes and processor time of each, where the machine lets us
bound them.

The keeper of a box stays outside its group, so that whoever fills it does not take the keeper's
place; what it starts goes in.
"""

import contextlib
import os
import time
from collections.abc import Mapping
from pathlib import Path

from envmill.runtime.jail import cgroups

_PREFIX = "envbox-"
_PERIOD = 100_000
"""Microseconds over which processor time is counted."""
_PATIENCE = 1.0
"""Seconds for the processes of an ended box to be gone."""


class ControlGroup:
    """A box's groups, one per controller, or one of version 2."""

    def __init__(self, name: str, memory: int, processes: int, cores: float) -> None:
        self._folders: list[Path] = []
        self.doors: list[int] = []
        """Descriptors: whoever writes 0 to one is inside."""
        try:
            for parent in _find_parents():
                folder = parent / f"{_PREFIX}{os.getpid()}-{name}"
                folder.mkdir()
                self._folders.append(folder)
                _set_limits(folder, memory, processes, cores)
                self.doors.append(os.open(_find_door(folder), os.O_WRONLY | os.O_CLOEXEC))
        except OSError:
            self.remove()
            raise

    def shut(self) -> None:
        """Nobody is put in any more."""
        while self.doors:
            os.close(self.doors.pop())

    def remove(self) -> None:
        """Remove the groups; whoever is in them has been killed."""
        self.shut()
        until = time.monotonic() + _PATIENCE
        for folder in self._folders:
            while not _remove(folder) and time.monotonic() < until:
                time.sleep(0.001)


def sweep() -> None:
    """Remove what nurseries left that were killed together with who would have removed it."""
    with contextlib.suppress(OSError):
        for parent in _find_parents():
            for folder in parent.glob(f"{_PREFIX}*-*"):
                if not Path("/proc", folder.name.removeprefix(_PREFIX).split("-")[0]).exists():
                    _remove(folder)


def _find_door(folder: Path) -> Path:
    """In version 1 a thread may move itself, for which the kernel does not wait until every
    processor has stood still: 15 ms."""
    return folder / "tasks" if (folder / "tasks").exists() else folder / "cgroup.procs"


def _remove(folder: Path) -> bool:
    with contextlib.suppress(FileNotFoundError):
        try:
            folder.rmdir()
        except OSError:
            return False
    return True


def _find_parents() -> list[Path]:
    """Groups to make ours in: one per hierarchy; OSError when memory or processes cannot be
    bounded."""
    needed = cgroups.find_parents()
    processor = _find_processor()
    return list(dict.fromkeys([*needed.values(), *([processor] if processor else [])]))


def _find_processor() -> Path | None:
    """The group of version 1 that this process is in; in version 2 the controller is where the
    others are, or nowhere."""
    lines = Path("/proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    found = [line.split(":", 2) for line in lines]
    paths = [
        cgroups.ROOT / "cpu" / path.lstrip("/")
        for _, names, path in found
        if "cpu" in names.split(",")
    ]
    return next((path for path in paths if path.is_dir()), None)


def _set_limits(folder: Path, memory: int, processes: int, cores: float) -> None:
    quota = int(cores * _PERIOD)
    values: Mapping[str, str] = {
        "memory.limit_in_bytes": str(memory), "memory.max": str(memory), "memory.swap.max": "0", "pids.max": str(processes),
        "cpu.cfs_quota_us": str(quota), "cpu.max": f"{quota} {_PERIOD}",
    }  # fmt: skip
    for name, value in values.items():
        if (folder / name).exists():
            (folder / name).write_text(value)
