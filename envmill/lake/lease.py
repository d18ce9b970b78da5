"""A lease: one process at a time on one batch, freed by the kernel when its holder dies."""

import asyncio
import contextlib
import fcntl
import os
from collections.abc import AsyncGenerator
from pathlib import Path

_POLL = 0.1  # seconds; a waiter is rare and a batch takes far longer


@contextlib.asynccontextmanager
async def hold(path: Path) -> AsyncGenerator[None]:
    """Wait for the lease without blocking the event loop, and hold it for the block."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        while not try_lock(handle):  # noqa: ASYNC110  another process frees it, no event of ours can tell
            await asyncio.sleep(_POLL)
        yield
    finally:
        os.close(handle)


def try_lock(handle: int) -> bool:
    """Take the lock if nobody holds it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
