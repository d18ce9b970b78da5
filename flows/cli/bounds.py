"""The last resort against a question: one SQL function heeds neither interrupts nor DuckDB's own
memory limit."""

import os
import resource
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

GRACE = 3.0  # seconds after the question's own time limit
ROOM = 3 * 2**30  # bytes beside what DuckDB counts: threads, code, Arrow buffers
REFUSED = 4  # exit code


@contextmanager
def bound(seconds: float) -> Iterator[None]:
    """The kernel bounds this process's memory, and a watchdog ends it."""
    before = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(
        resource.RLIMIT_DATA,
        (min(_used() + ROOM, before[1] if before[1] > 0 else 2**62), before[1]),
    )
    watchdog = threading.Timer(seconds + GRACE, _end, [seconds])
    watchdog.daemon = True
    watchdog.start()
    try:
        yield
    finally:
        watchdog.cancel()
        resource.setrlimit(resource.RLIMIT_DATA, before)


def _used() -> int:
    """Bytes of data this process has mapped."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0


def _end(seconds: float) -> None:
    sys.stderr.write(
        f"The question took longer than {seconds:g} s and could not be interrupted. Narrow it, or "
        "allow more time.\n"
    )
    sys.stderr.flush()
    os._exit(REFUSED)
