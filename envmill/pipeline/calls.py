"""The model calls of a run as one process knows them: those in the lake, those that dead processes of its home left, and its own.

lake, journals of the home ─► known ─► door ─► own journal ─► lake, when the process ends; where others share the run, after each bucket
"""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path

from envmill.lake.arrow import Stamp
from envmill.lake.catching_up import read_new
from envmill.lake.coordination import Coordinator, HeldLease, hold
from envmill.lake.journal import Journal, Read, read_calls, seal
from envmill.lake.lake import Lake
from envmill.lake.replies import StoredReplies
from envmill.models.terms import count_spent
from schemas.ledger import ModelCall


class RunCalls:
    """Of one process and run."""

    def __init__(self, run: str, lake: Lake, folder: Path) -> None:
        self._run, self._lake, self._folder = run, lake, folder
        self._seen: set[str] = set()
        self._read: Read = {}
        self.known = StoredReplies()
        """Replies that need not be asked for, by the hash of their request and the sample."""
        self.spent = count_spent(self._learn())
        """What the run had spent when this process came to it."""
        self.journal = Journal(folder)

    @asynccontextmanager
    async def shared(self, lease: HeldLease) -> AsyncGenerator[None]:
        """For the block, work on what the lease is of: know what its earlier holders asked, and leave to later ones what we asked."""
        if lease.inherited and not lease.coordinator.local:
            await asyncio.to_thread(count_spent, self._learn())
        try:
            yield
        finally:
            if not lease.coordinator.local:
                await self._publish()

    @asynccontextmanager
    async def alone(self, coordinator: Coordinator, name: str) -> AsyncGenerator[None]:
        """For the block, ask what no other process of the run asks meanwhile. What one of them asked before is known then."""
        async with hold(coordinator, f"{self._run}/{name}") as lease:
            if lease.inherited:
                await asyncio.to_thread(count_spent, self._learn())
            try:
                yield
            finally:
                if not coordinator.local:
                    await self._publish()
            await lease.confirm()

    async def close(self) -> None:
        """Leave all calls to the lake."""
        await self.journal.close()
        seal(self._folder, self._lake, _make_stamp(self._run))

    def _learn(self) -> Iterator[ModelCall]:
        """Calls that came to the lake and the home since the last time; each is known once it is yielded. A call may come twice."""
        seal(self._folder, self._lake, _make_stamp(self._run))
        # Before the lake: a journal sealed between the two is then seen twice, never missed.
        for calls in (
            read_calls(self._folder, self._read),
            read_new(self._lake, ModelCall, self._run, self._seen),
        ):
            for call in calls:
                if call.answers:
                    self.known[call.request, call.sample] = call
                yield call

    async def _publish(self) -> None:
        if await self.journal.rotate():
            await asyncio.to_thread(seal, self._folder, self._lake, _make_stamp(self._run))


def _make_stamp(run: str) -> Stamp:
    return Stamp(run, "", "", 0, 1, "", datetime.now(UTC).isoformat())
