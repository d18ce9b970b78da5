"""How a driver is started: exec'ed with a clean environment, on a core, tied to the life of this
process."""

import os
import platform
import socket
import subprocess
import sys
import threading
import zoneinfo
from collections.abc import Collection
from pathlib import Path
from typing import Any

import orjson

from envmill.base.errors import SandboxError
from envmill.base.settings import ROOT

CODEC = "orjson"
"""On both ends: a batch of calls takes a third less time than with the standard library's JSON."""
SESSIONS = "apsw"
"""Where environments are databases: what changed is then known at next to no cost."""


def check_system() -> None:
    """The jail is made of what the Linux kernel offers, and of nothing else."""
    if platform.system() != "Linux":
        raise SandboxError(
            f"The jail needs Linux, and this is {platform.system() or 'something else'}. Work in "
            "an image of it: "
            'docker run -it -v "$PWD":/envmill -w /envmill python:3.12 bash, and there `make '
            "setup`."
        )


def launch(
    hash_seed: int, without: Collection[str], core: int | None, diagnose: bool
) -> tuple[subprocess.Popen[bytes], socket.socket]:
    """A driver's process, and our end of its wire."""
    mine, theirs = socket.socketpair()
    # The kernel signals the death of the parent *thread*: only the main thread lives as long as the
    # process.
    guard = threading.current_thread() is threading.main_thread()
    config: dict[str, Any] = {
        "parent": os.getpid(), "guard": guard, "core": core, "codec": CODEC, "sessions": SESSIONS,
        "without": sorted(without), "diagnose": diagnose,
    }  # fmt: skip
    with theirs:
        process = subprocess.Popen(
            [*list_words(), str(theirs.fileno()), orjson.dumps(config).decode()],
            pass_fds=[theirs.fileno()], env=list_environment(hash_seed), cwd="/", start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
    return process, mine


def list_words() -> list[str]:
    """The command a driver is, without what is its own."""
    # What only a driver imports is compiled by a driver: unless it may keep that, a third of each
    # one's start is compiling.
    return [
        sys.executable,
        "-S",
        "-s",
        "-P",
        *(["-B"] if sys.dont_write_bytecode else []),
        "-m",
        "envmill.runtime.jail.driver",
    ]


def list_environment(hash_seed: int) -> dict[str, str]:
    """A clean environment, explicit: -I and -E would make Python ignore PYTHONHASHSEED, and this
    does their work."""
    libraries = Path(orjson.__file__).parents[1]
    return {
        "PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8", "TZ": "UTC", "PYTHONHASHSEED": str(hash_seed), "PYTHONPATH": f"{ROOT}:{libraries}",
        # A library's function is looked up when it is first called, and noted on a page that each
        # fork then has to copy for itself.
        "LD_BIND_NOW": "1",
        # Where Python does not know, it loads all that was known when it was built: 400 KB, which
        # every fork copies.
        "PYTHONTZPATH": ":".join(zoneinfo.TZPATH),
    }  # fmt: skip


def pick_cores() -> list[int]:
    """The cores this process may use, beginning elsewhere in every process."""
    cores = sorted(os.sched_getaffinity(0))
    first = os.getpid() % len(cores)
    return cores[first:] + cores[:first]
