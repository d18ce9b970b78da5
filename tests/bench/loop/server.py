"""The exported server in a process of its own, and what its process tree takes of the machine."""

import os
import secrets
import socket
import subprocess
import time
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

_PATIENCE = 300
"""Seconds: importing OpenEnv takes long where other work has the processors."""
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Served:
    """A server that answers."""

    url: str
    token: str
    pid: int

    def measure_memory(self) -> float:
        """Gigabytes of the whole process tree; pages that processes share are counted once."""
        return sum(read_pss(pid) for pid in list_tree(self.pid)) / 1e9

    def measure_processor(self) -> float:
        """Seconds of processor time of the tree's live processes and of children they waited
        for."""
        return sum(read_processor(pid) for pid in list_tree(self.pid))

    def ask(self, path: str) -> str:
        """The answer to a GET with the token."""
        request = urllib.request.Request(
            self.url + path, headers={"Authorization": f"Bearer {self.token}"}
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return answer.read().decode()


@contextmanager
def serve(python: Path, folder: Path, sessions: int) -> Generator[Served]:
    """Serve an exported folder until the block ends."""
    token, port = secrets.token_urlsafe(), find_port()
    settings = {
        **os.environ,
        "ENVMILL_OPENENV_TOKEN": token,
        "ENVMILL_OPENENV_SESSIONS": str(sessions),
    }
    process = subprocess.Popen(
        [python, "-B", "-m", "envmill_openenv.app", "--port", str(port)], cwd=folder, env=settings
    )
    served = Served(f"http://127.0.0.1:{port}", token, process.pid)
    try:
        wait(served, process)
        yield served
    finally:
        process.terminate()
        process.wait(60)


def wait(served: Served, process: "subprocess.Popen[bytes]") -> None:
    """Until it answers."""
    until = time.monotonic() + _PATIENCE
    while time.monotonic() < until:
        assert process.poll() is None, "the server ended"
        with suppress(OSError), urllib.request.urlopen(f"{served.url}/health", timeout=5):
            return
        time.sleep(0.1)
    raise TimeoutError(f"no answer in {_PATIENCE} s")


def find_port() -> int:
    """One that is free."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def list_tree(root: int) -> list[int]:
    """A process and all below it, those that are furthest down last."""
    below, found = _list_below(), [root]
    for pid in found:
        found += below.get(pid, [])
    return found


def list_children(parent: int) -> list[int]:
    """Processes that one started."""
    return _list_below().get(parent, [])


def _list_below() -> dict[int, list[int]]:
    """Of live processes: a session that ended stays a zombie until its template forks again."""
    below: dict[int, list[int]] = {}
    for place in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            state, parent = place.read_text().rpartition(")")[2].split()[:2]
            if state != "Z":
                below.setdefault(int(parent), []).append(int(place.parent.name))
    return below


def read_pss(pid: int) -> float:
    """Bytes of memory of a process, with its share of what it shares; 0 when it is gone."""
    with suppress(OSError, IndexError):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return 1024.0 * next(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return 0.0


def read_processor(pid: int) -> float:
    """Seconds of processor time; 0 when it is gone."""
    with suppress(OSError):
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return sum(map(int, fields[11:15])) / _TICKS
    return 0.0
