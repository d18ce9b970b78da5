"""What the processes of a run share: small documents that change atomically, and which processes are alive.

change(name, edit) ─► document ─► edit ─► written, or nothing happened
own ─► alive until its process ends ─► is_dead for all others

Leases, budgets and shares of rates are documents. Nothing here reads a wall clock.
"""

import asyncio
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

Document = dict[str, Any]
"""JSON values. A document that was never written is empty."""

T = TypeVar("T")


class Coordinator(Protocol):
    """One process's connection to what it shares with others."""

    place: str
    """Where the documents lie, without a password."""
    identity: str
    """Whether two coordinators share documents: equal then. Empty for a folder, which is of one home."""
    own: str
    """Name of this process among those that share the documents."""
    local: bool
    """Whether a call takes microseconds, so that it may be made on the event loop."""

    poll: float
    """Seconds after which a waiter asks again."""

    def change(self, name: str, edit: Callable[[Document], T]) -> T:
        """Edit a document in place; nobody else changes it meanwhile. An edit that raises changes nothing. An edit may run more
        than once, and a change whose answer was lost may have been made: edits must tolerate both."""
        ...

    def is_dead(self, process: str) -> bool:
        """Whether a process has ended, or has given no sign of life for as long as a lease lasts."""
        ...

    def is_assured(self) -> bool:
        """Whether all others still take this process for alive. If not, it must not begin anything that costs."""
        ...

    def close(self) -> None:
        """End this process's part: the others need not wait for it."""
        ...


async def ask(coordinator: Coordinator, question: Callable[[], T]) -> T:
    """Call a coordinator without blocking the event loop."""
    return question() if coordinator.local else await asyncio.to_thread(question)
