"""The processes of a driver, found by what only they bear on their command line."""

import time
from pathlib import Path


def find_processes(parent: int) -> set[int]:
    """Living processes that descend from a flow process's drivers; forks keep their driver's
    command line."""
    mark = f'"parent":{parent},'.encode()
    found: set[int] = set()
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                if (
                    mark in (folder / "cmdline").read_bytes()
                    and b") Z " not in (folder / "stat").read_bytes()
                ):
                    found.add(int(folder.name))
            except OSError:
                continue
    return found


def wait_until_gone(parent: int, seconds: float = 3.0) -> set[int]:
    """Whatever is still there after so long."""
    end = time.monotonic() + seconds
    while (left := find_processes(parent)) and time.monotonic() < end:
        time.sleep(0.02)
    return left
