# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
"""The reaper: removes from Docker what a driver left there that was killed before it could, told by
the label all of it bears.

It is second to the wire, by whose end containers end themselves; what only it finds are layers, and
containers that never started.
"""

import contextlib
import os
from pathlib import Path

import docker
from docker.errors import APIError

LABEL = "envmill.driver"


def name_driver() -> str:
    """This process, told from any other that had or will have its number, here or on another
    machine."""
    return f"{_boot()}-{os.getpid()}-{_read_start(os.getpid())}"


def sweep(client: docker.APIClient) -> int:
    """Remove the containers and layers of this machine's dead drivers; how many."""
    containers = [
        one["Id"]
        for one in client.containers(all=True, filters={"label": LABEL})
        if not _is_alive(one["Labels"][LABEL])
    ]
    layers = [
        one["Id"]
        for one in client.images(filters={"label": LABEL})
        if not _is_alive(one["Labels"][LABEL])
    ]
    for number in containers:
        with contextlib.suppress(APIError):  # it is being removed by itself
            client.remove_container(number, force=True, v=True)
    for number in layers:
        with contextlib.suppress(APIError):
            client.remove_image(number, force=True)
    return len(containers) + len(layers)


def _is_alive(driver: str) -> bool:
    """Whoever is of another machine, or of another start of it, is not judged from here."""
    boot, _, rest = driver.partition("-")
    pid, _, start = rest.partition("-")
    if boot != _boot() or not pid.isdigit():
        return boot != _boot()
    return _read_start(int(pid)) == start


def _boot() -> str:
    return (
        Path("/proc/sys/kernel/random/boot_id")
        .read_text(encoding="utf-8")
        .strip()
        .replace("-", "")[:12]
    )


def _read_start(pid: int) -> str:
    """When a process started, in ticks; empty when there is none."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return ""
