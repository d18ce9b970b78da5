"""Whether the worker is up, as the right user, and comes back when it is ended."""

import json
import os
import signal
import time

from probing import Values, fetch, find_listeners, probe, read, report, want


def ask(v: Values) -> dict[str, str]:
    status, text = fetch(v["port"])
    want(status == 200, f"the worker answers {status}")
    return json.loads(text)


@probe
def worker(v: Values) -> None:
    said = ask(v)
    want(said == {"job": v["job"], "level": v["level"], "folder": f"/opt/{v['job']}"}, f"the worker says {said}")


@probe
def owner(v: Values) -> None:
    holders = find_listeners(v["port"])
    want(holders, f"nothing listens on port {v['port']}")
    status = read(f"/proc/{holders[0]}/status")
    want("\nUid:\t0\t" not in status, "the worker runs as root")


@probe
def steady(v: Values) -> None:
    holders = find_listeners(v["port"])
    want(holders, f"nothing listens on port {v['port']}")
    time.sleep(1.2)  # whatever ends within its first second counts as failed, and is tried again for that reason
    os.kill(holders[0], signal.SIGUSR1)
    for _ in range(160):
        time.sleep(0.05)
        now = find_listeners(v["port"])
        if now and now != holders:
            return
    want(False, "the worker did not come back within 8 s")


report()
