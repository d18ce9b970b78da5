"""Attempts at a batch: numbered and claimed, and ended in the order of their numbers, by however
many machines.

claim n ─► every earlier attempt has ended, or is ended for it ─► what still lacks is known ─► files ─► commit n

So no two commits of a batch hold work on the same subject: each was made by somebody who saw all commits before it. A writer whose
lease went to another process has its claim ended, and neither ends the attempts of others nor commits.
"""

import asyncio
import time
import uuid
from collections.abc import Callable, Iterable

import orjson

from envmill.base.errors import LeaseLost
from envmill.lake.arrow import Stamp
from envmill.lake.commits import find_ended, void
from envmill.lake.coordination.lease import HeldLease
from envmill.lake.files import BatchName, folder_of, start_of
from envmill.lake.merges import MergeRecords
from envmill.lake.stores.base import Store, ask_aside
from schemas.tables import TABLES

# seconds for an earlier attempt to end: a writer publishes within that, or was killed and never
# will
PATIENCE = 5.0
_PAUSE = 0.1


class Attempts:
    """Of one store, all runs."""

    def __init__(self, store: Store, merges: MergeRecords) -> None:
        self._store, self._merges = store, merges

    def next(self, run: str, step: str, bucket: int) -> int:
        """One more than any attempt ever claimed, those of killed writers included."""
        start = start_of(step, bucket)
        claimed = (
            BatchName.parse(entry.stem) for entry in self._store.entries(_claims(run), start)
        )
        seen = (*claimed, *(BatchName.parse(stem) for stem in self.ended(run, start)))
        return 1 + max(
            (name.attempt for name in seen if name and (name.step, name.bucket) == (step, bucket)),
            default=0,
        )

    def claim(self, stamp: Stamp, tables: Iterable[str]) -> BatchName | None:
        """The attempt, if nobody had it. The tables are those its batch will have files in: others
        can then tell its commit's name."""
        holds = tuple(sorted(TABLES[table].prefix for table in tables))
        batch = BatchName(stamp.step, stamp.bucket, stamp.fingerprint[:8], stamp.try_number, holds)
        claim = orjson.dumps({"writer": uuid.uuid4().hex, "holds": holds})
        return (
            batch
            if self._store.put_if_absent(f"{_claims(stamp.run)}/{batch.stem}.json", claim)
            else None
        )

    async def take_turn(
        self,
        make_stamp: Callable[[int], Stamp],
        tables: Iterable[str],
        patience: float = PATIENCE,
        lease: HeldLease | None = None,
    ) -> tuple[Stamp, BatchName]:
        """Claim the next attempt and see every earlier one ended. What lacks must be asked for after this.

        LeaseLost when the lease, looked at after the claim, is another's: whoever took it before that sees our claim."""
        tables = list(tables)
        while True:
            stamp, batch = await ask_aside(
                self._store, lambda: self._claim_next(make_stamp, tables)
            )
            if batch:
                await self._confirm(stamp.run, batch, lease)
                await self._end_before(stamp.run, batch, patience)
                return stamp, batch

    def _claim_next(
        self, make_stamp: Callable[[int], Stamp], tables: Iterable[str]
    ) -> tuple[Stamp, BatchName | None]:
        first = make_stamp(0)
        stamp = make_stamp(self.next(first.run, first.step, first.bucket))
        return stamp, self.claim(stamp, tables)

    def ended(self, run: str, start: str = "") -> set[str]:
        """Stems of attempts that are over: committed, merged or void; of the first two those that start so."""
        return find_ended(
            self._store.entries(folder_of("attrition", run), start),
            self._merges.read(self._merges.names(run)),
        )

    def void(self, run: str, batch: BatchName) -> bool:
        """End an attempt without a commit. False when it had ended."""
        return void(self._store, run, batch)

    async def _confirm(self, run: str, batch: BatchName, lease: HeldLease | None) -> None:
        try:
            if lease is not None:
                await lease.confirm()
        except LeaseLost:
            await ask_aside(self._store, lambda: self.void(run, batch))
            raise

    async def _end_before(self, run: str, batch: BatchName, patience: float) -> None:
        deadline = time.monotonic() + patience

        def is_busy() -> bool:
            still = self._open_before(run, batch)
            if time.monotonic() >= deadline:
                for one in still:
                    self.void(run, one)
            return bool(still)

        while await ask_aside(self._store, is_busy):  # noqa: ASYNC110  another process ends it
            await asyncio.sleep(_PAUSE)

    def _open_before(self, run: str, batch: BatchName) -> list[BatchName]:
        """Earlier attempts at the same that are claimed and not over, named as their commits would
        be."""
        start = start_of(batch.step, batch.bucket)
        ended = self.ended(run, start)
        claimed = [
            one
            for entry in self._store.entries(_claims(run), start)
            if (one := BatchName.parse(entry.stem)) and one.stem not in ended
        ]
        same = (batch.step, batch.bucket, batch.fp8)
        return [
            self._with_holds(run, one)
            for one in claimed
            if (one.step, one.bucket, one.fp8) == same and one.attempt < batch.attempt
        ]

    def _with_holds(self, run: str, claimed: BatchName) -> BatchName:
        claim = orjson.loads(self._store.read(f"{_claims(run)}/{claimed.stem}.json"))
        return BatchName(
            claimed.step,
            claimed.bucket,
            claimed.fp8,
            claimed.attempt,
            tuple(claim.get("holds", ())),
        )


def _claims(run: str) -> str:
    return f"_claims/run={run}"
