"""A lease: one holder at a time on one piece of work, over all processes that share a coordinator.

acquire ─► token, larger by one than any holder had before ─► confirm, before anything is published ─► release

A holder that ends without releasing is replaced once it is dead. One that was only cut off finds another token when it
confirms: what it made is refused, and nothing of it is published.
"""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass

from envmill.base.errors import LeaseLost
from envmill.lake.coordination.base import Coordinator, Document, ask


@dataclass(frozen=True)
class HeldLease:
    """What a holder knows of its lease."""

    coordinator: Coordinator
    name: str
    holder: str
    token: int
    """Fencing token: of two holders the later one has the larger."""

    @property
    def inherited(self) -> bool:
        """Whether another holder had it before."""
        return self.token > 1

    async def confirm(self) -> None:
        """LeaseLost when another process has taken the lease since."""
        await ask(
            self.coordinator, lambda: self.coordinator.change(f"leases/{self.name}", self._check)
        )

    def _check(self, document: Document) -> None:
        if (document.get("holder"), document.get("token")) != (self.holder, self.token):
            raise LeaseLost(
                f"The lease {self.name} went to another process while this one was cut off or stopped. What it made here is not "
                "published; its replies are journalled. The other process goes on."
            )


@contextlib.asynccontextmanager
async def hold(coordinator: Coordinator, name: str) -> AsyncGenerator[HeldLease]:
    """Wait for the lease without blocking the event loop, and hold it for the block."""
    holder = f"{coordinator.own}:{uuid.uuid4().hex[:12]}"
    while (token := await ask(coordinator, lambda: _acquire(coordinator, name, holder))) is None:  # noqa: ASYNC110  another process frees it
        await asyncio.sleep(coordinator.poll)
    try:
        yield HeldLease(coordinator, name, holder, token)
    finally:
        await ask(coordinator, lambda: coordinator.change(f"leases/{name}", _leave(holder)))


def _acquire(coordinator: Coordinator, name: str, holder: str) -> int | None:
    """The token; None while a process that lives holds the lease."""
    token, seen = coordinator.change(f"leases/{name}", _take(holder, None))
    if token is None and coordinator.is_dead(seen.partition(":")[0]):
        token, _ = coordinator.change(f"leases/{name}", _take(holder, seen))
    return token


def _take(holder: str, dead: str | None) -> Callable[[Document], tuple[int | None, str]]:
    """Take it from nobody, from a holder that is dead, or from ourselves where the answer was lost."""

    def edit(document: Document) -> tuple[int | None, str]:
        now = document.get("holder")
        if now == holder:
            return document["token"], holder
        if now is not None and now != dead:
            return None, now
        document.update(holder=holder, token=document.get("token", 0) + 1)
        return document["token"], holder

    return edit


def _leave(holder: str) -> Callable[[Document], None]:
    def edit(document: Document) -> None:
        if document.get("holder") == holder:
            document["holder"] = None

    return edit
