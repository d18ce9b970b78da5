"""Control groups: a bound on the memory and the number of processes of a whole driver's tree, where
the machine lets us make one.

The driver itself stays outside: when the tree is out of memory the kernel ends the largest session,
and the driver answers for it.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path("/sys/fs/cgroup")
PROCESSES = 8192
"""Processes of one driver, at most: eight times the sessions it is meant for."""
LEAST_MEMORY = 1 << 30
"""Bytes that a tree may take however small the machine is."""
_PREFIX = "envmill-"
_PATIENCE = 2.0
"""Seconds for the processes of a dead driver to be gone."""
_LIMITS = {"memory": ("memory.limit_in_bytes", "memory.max"), "pids": ("pids.max", "pids.max")}
"""Controller → its limit's file in version 1, in version 2."""


def enclose(pid: int, memory: int = 0) -> None:
    """Put a process, and all it will fork, into groups named after this one. OSError when either
    controller is not ours."""
    sweep()
    values = {"memory": memory or max(LEAST_MEMORY, _machine_memory() // 2), "pids": PROCESSES}
    made: list[Path] = []
    try:
        for controller, parent in find_parents().items():
            group = parent / f"{_PREFIX}{os.getpid()}"
            group.mkdir(exist_ok=True)
            made.append(group)
            (group / _name_limit(controller, group)).write_text(str(values[controller]))
        # Only when every limit holds: a half-made layer would be told as a whole one.
        for group in made:
            (group / "cgroup.procs").write_text(str(pid))
    except OSError:
        for group in made:
            with contextlib.suppress(OSError):
                group.rmdir()
        raise


def remove(driver: int) -> None:
    """Remove the groups of a driver that died, and with them whoever has outlived it."""
    with contextlib.suppress(OSError):
        for parent in find_parents().values():
            group = parent / f"{_PREFIX}{driver}"
            until = time.monotonic() + _PATIENCE
            while group.exists() and time.monotonic() < until:
                _kill_members(group)
                with contextlib.suppress(OSError):
                    group.rmdir()
                    break
                time.sleep(0.002)


def sweep() -> None:
    """Remove the groups of drivers that were killed together with who would have removed them."""
    with contextlib.suppress(OSError):
        for parent in set(find_parents().values()):
            for group in parent.glob(f"{_PREFIX}*"):
                if not Path("/proc", group.name.removeprefix(_PREFIX)).exists():
                    # The kernel refuses where somebody is still in one.
                    with contextlib.suppress(OSError):
                        group.rmdir()


def _kill_members(group: Path) -> None:
    for pid in (group / "cgroup.procs").read_text().split():
        with contextlib.suppress(ProcessLookupError):
            os.kill(int(pid), signal.SIGKILL)


def find_parents() -> dict[str, Path]:
    """Controller → the group this process is in; OSError when one is missing."""
    found: dict[str, Path] = {}
    for controllers, path in _read_membership():
        if not controllers and _unified(ROOT / path):
            found |= {name: ROOT / path for name in _LIMITS if name not in found}
        found |= {name: ROOT / name / path for name in _LIMITS if name in controllers.split(",")}
    if len(found) < len(_LIMITS) or not all(parent.is_dir() for parent in found.values()):
        raise FileNotFoundError("no control groups for memory and number of processes")
    return found


def _read_membership() -> Iterator[tuple[str, str]]:
    for line in Path("/proc/self/cgroup").read_text().splitlines():
        _, controllers, path = line.split(":", 2)
        yield controllers, path.lstrip("/")


def _unified(group: Path) -> bool:
    """Whether a group of version 2 hands both controllers on to the groups below it."""
    try:
        return set(_LIMITS) <= set((group / "cgroup.subtree_control").read_text().split())
    except OSError:
        return False


def _name_limit(controller: str, group: Path) -> str:
    older, newer = _LIMITS[controller]
    return older if (group / older).exists() else newer


def _machine_memory() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
