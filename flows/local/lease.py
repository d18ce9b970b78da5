"""A flow run's lease: who walks it, renewed while it is walked, under a lock that the kernel frees
when its holder dies.

home/runs/<flow run>.lock    locked by the process that walks it
home/runs/<flow run>.json    host, boot and pid of that process, and when it last said so
"""

import asyncio
import contextlib
import json
import os
import socket
import time
from collections.abc import AsyncGenerator
from dataclasses import asdict, dataclass
from pathlib import Path

from envmill.base.errors import EnvMillError
from envmill.lake.coordination.locking import try_lock
from flows.local.launch import read_boot

RENEWAL = 10.0
EXPIRY = 60.0
"""Seconds without renewal after which a lease of another host is over. On this host the lock tells
at once."""
_PATIENCE = 20.0
_POLL = 0.2


@dataclass(frozen=True)
class Lease:
    """Who walks a flow run."""

    host: str
    boot: str
    pid: int
    renewed: float
    """Wall-clock time: monotonic clocks of two hosts have nothing in common."""

    def is_live_elsewhere(self, now: float) -> bool:
        """Whether another host walks it. A clock that jumped makes a lease look older or newer by
        as much, never immortal."""
        return self.host != socket.gethostname() and abs(now - self.renewed) < EXPIRY


@contextlib.asynccontextmanager
async def hold_lease(
    home: Path, flow_run: str, patience: float = _PATIENCE
) -> AsyncGenerator[None]:
    """Hold it for the block. A second process of the same flow run fails, once the first has had
    time to die."""
    folder = _folder(home)
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / f"{flow_run}.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        await _take(handle, home, flow_run, patience)
        renewing = asyncio.create_task(_renew(folder / f"{flow_run}.json"))
        try:
            yield
        finally:
            renewing.cancel()
            (folder / f"{flow_run}.json").unlink(missing_ok=True)
    finally:
        os.close(handle)


def is_held(home: Path, flow_run: str) -> bool:
    """Whether a process of this host holds it now."""
    try:
        handle = os.open(_folder(home) / f"{flow_run}.lock", os.O_RDWR | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        return not try_lock(handle)
    finally:
        os.close(handle)


def is_any_held(home: Path) -> bool:
    """Whether a process of this host walks any flow run now."""
    return any(is_held(home, flow_run) for flow_run in list_leases(home))


def read_lease(home: Path, flow_run: str) -> Lease | None:
    """The lease as it was last renewed; None when there is none that can be read."""
    try:
        return Lease(**json.loads((_folder(home) / f"{flow_run}.json").read_text()))
    except (OSError, ValueError, TypeError):
        return None


def forget(home: Path, flow_run: str) -> None:
    """Remove what a run that is over has left."""
    for end in ("json", "lock"):
        (_folder(home) / f"{flow_run}.{end}").unlink(missing_ok=True)


def list_leases(home: Path) -> list[str]:
    """Flow runs that have left something here."""
    return sorted(path.stem for path in _folder(home).glob("*.lock"))


def _folder(home: Path) -> Path:
    return home / "runs"


async def _take(handle: int, home: Path, flow_run: str, patience: float) -> None:
    until = time.monotonic() + patience
    while not try_lock(handle):  # another process frees it, no event of ours can tell
        if time.monotonic() > until:
            lease = read_lease(home, flow_run)
            by = f"process {lease.pid} on {lease.host}" if lease else "another process"
            raise EnvMillError(
                f"Flow run {flow_run} is already worked on by {by}, which is still alive. Let it finish or stop it; then Retry."
            )
        await asyncio.sleep(_POLL)


async def _renew(path: Path) -> None:
    while True:
        unfinished = path.with_suffix(".new")
        with contextlib.suppress(OSError):  # on a full disk the lock still tells
            unfinished.write_text(
                json.dumps(
                    asdict(Lease(socket.gethostname(), read_boot(), os.getpid(), time.time()))
                )
            )
            unfinished.replace(path)
        await asyncio.sleep(RENEWAL)
