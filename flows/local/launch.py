"""Leave the parent, write down who I am, then become the program: `launch.py RECORD URL PROGRAM
ARGUMENTS...`.

The record is written by the process it describes, so whoever started it may be killed at any
moment; its pid also lies alone beside it, for supervisors that read no more. Standard library only.
"""

import json
import os
import sys
from pathlib import Path


def read_start(pid: int) -> int | None:
    """Kernel's start time of a process; None when it is gone or only waits to be buried. Tells a
    reused pid from the one meant."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    state, *fields = stat.rpartition(")")[2].split()
    return None if state in "ZX" else int(fields[18])


def read_boot() -> str:
    """Start times count from boot."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def main(record: str, url: str, *command: str) -> None:
    """The fork lets the parent go on at once, with nobody to bury later; the new session keeps its
    Ctrl-C away."""
    if os.fork():
        os._exit(0)
    os.setsid()
    path = Path(record)
    facts = {
        "pid": os.getpid(),
        "started": read_start(os.getpid()),
        "boot": read_boot(),
        "url": url,
    }
    path.with_suffix(".pid").write_text(f"{os.getpid()}\n")
    unfinished = path.with_suffix(".new")
    unfinished.write_text(json.dumps(facts))
    unfinished.replace(path)
    os.execv(command[0], command)


if __name__ == "__main__":
    main(*sys.argv[1:])
