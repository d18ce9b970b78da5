"""Whether the worker is up, as the right user, and comes back when it is ended."""

import json
import os
import pwd
import signal
import time
from contextlib import suppress
from pathlib import Path

from probing import Values, fetch, find_listeners, probe, read, report, run, want, want_closed

ENDED = ("EXITED", "FATAL", "STOPPED")
"""States of a program that nobody starts again."""
GIVEN_UP = 40
"""Turns after which supervisord has seen that it ended."""


def ask(v: Values) -> dict[str, str]:
    status, text = fetch(v["port"])
    want(status == 200, f"the worker answers {status}")
    return json.loads(text)


@probe
def worker(v: Values) -> None:
    said = ask(v)
    want(said == {"job": v["job"], "level": v["level"], "folder": f"/opt/{v['job']}"}, f"the worker says {said}")
    want_closed(f"/etc/supervisor/conf.d/{v['job']}.conf", "root:root", "644")
    want_closed("/etc/supervisor/supervisord.conf", "root:root", "644")


@probe
def owner(v: Values) -> None:
    holders = find_listeners(v["port"])
    want(holders, f"nothing listens on port {v['port']}")
    status = read(f"/proc/{holders[0]}/status")
    want("\nUid:\t0\t" not in status, "the worker runs as root")
    want(f"\nUid:\t{pwd.getpwnam(v['job']).pw_uid}\t" in status, f"the worker does not run as {v['job']}")
    want_closed(f"/var/log/{v['job']}", f"{v['job']}:{v['job']}", "750")
    want_closed(f"/opt/{v['job']}/worker.py", "root:root", "755")


@probe
def steady(v: Values) -> None:
    holders = find_listeners(v["port"])
    want(holders, f"nothing listens on port {v['port']}")
    # What ends before it counts as running is tried again for that reason, whatever the settings say.
    for _ in range(40):
        if read_state(v) in ("RUNNING", *ENDED):
            break
        time.sleep(0.3)
    os.kill(holders[0], signal.SIGUSR1)
    if not await_other(v, holders, 8):
        run("/usr/bin/supervisorctl", "start", v["job"])  # what was ended here is not left so
        await_other(v, holders, 4)
        want(False, "the worker did not come back within 8 s")


def read_state(v: Values) -> str:
    """As supervisord tells it; empty where it tells nothing."""
    _, state, *_ = (*run("/usr/bin/supervisorctl", "status", v["job"])[1].split(), "", "")
    return state


def await_other(v: Values, holders: list[int], seconds: int) -> bool:
    """Whether another process comes to hold the port. Turns in which something works are not counted: a busy machine is slow."""
    idle = 0
    for _ in range(600):
        if find_listeners(v["port"]) not in ([], holders):
            return True
        idle += not works()
        if idle > 20 * seconds or (idle == GIVEN_UP and read_state(v) in ENDED):
            break
        time.sleep(0.05)
    return False


def works() -> bool:
    """Whether any process but this one runs, waits for a processor or for a disk."""
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            with suppress(OSError):  # it ended meanwhile
                if (entry / "stat").read_text().rpartition(")")[2].split()[0] in "RD":
                    return True
    return False


report()
