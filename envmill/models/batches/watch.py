"""A watch over the batches of one model in one run: which are under way, and what the others
brought back.

slip without an id ─► looked for ─► id, or void
open slip          ─► looked at  ─► under way, or closed with what came to nothing
"""

import socket
import time
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass

from envmill.base.errors import BadRequest, KeyRefused, Pending
from envmill.models.batches.base import BatchItem, BatchSlip, BatchStatus, Carrier, Outcome
from envmill.models.batches.slips import VOID, FiledSlip, Slips, count_tries

# seconds another machine may take to send what it wrote down; its lock cannot be seen from here
_FOREIGN_SENDING = 900.0


@dataclass(frozen=True)
class RunningBatch:
    """A batch that is not over."""

    slip: BatchSlip
    id: str
    standing: BatchStatus


class BatchWatch:
    """What one process knows of its batches. Looking and sending want the run's lease: a slip
    without an id has then lost its writer."""

    def __init__(
        self, carrier: Carrier, model: str, slips: Slips, clock: Callable[[], float] = time.time
    ) -> None:
        self._carrier, self._model, self._slips, self._clock = carrier, model, slips, clock
        self._filed: dict[str, FiledSlip] = {}
        self._outcomes: dict[str, dict[str, Outcome]] = {}
        self._tries: Mapping[str, int] = {}
        self.underway: tuple[RunningBatch, ...] = ()
        """Batches that were not over at the last look."""

    async def poll(self) -> None:
        """Every slip of this model."""
        for filed in self._own():
            if not filed.id:
                await self._trace(filed)
        self.underway = tuple([one async for one in self._close_ended()])
        filed = self._own()
        self._filed = {item: one for one in filed if one.id != VOID for item in one.slip.items}
        self._tries = count_tries(filed, self._slips.excused())

    def find(self, name: str) -> FiledSlip | None:
        """The latest slip that bears an item."""
        return self._filed.get(name)

    async def fetch(self, name: str) -> Outcome | None:
        """What came of an item; None when it was never handed in, or is under way."""
        filed = self._filed.get(name)
        if filed is None or not filed.closed:
            return None
        return self._known(name, filed) or (await self._load(filed))[name]

    def spoil(self, name: str, said: str) -> Outcome:
        """A reply that is none after all."""
        outcome = Outcome("failed", said=said)
        self._outcomes[self._filed[name].slip.name][name] = outcome
        return outcome

    def is_lacking(self, name: str) -> bool:
        """Whether an item has to go out: another process may have handed it in, or even had it
        done, since it was asked for."""
        filed = self._filed.get(name)
        if filed is None:
            return True
        known = self._known(name, filed) if filed.closed else None
        return known is not None and known.fate != "done"

    def count_tries(self, name: str) -> int:
        """Batches in a row that brought nothing back for an item."""
        return self._tries.get(name, 0)

    def excuse(self, name: str) -> None:
        """Somebody was told of an item's failures; whoever retries counts anew."""
        self._slips.excuse(self._filed[name].slip.name)

    def dropped(self) -> frozenset[str]:
        """Optional fields that batches of this model have gone out without."""
        return frozenset(field for filed in self._own() for field in filed.slip.dropped)

    async def send(self, slip: BatchSlip, items: Sequence[BatchItem]) -> bool:
        """Write it down, send it off, write down its id; False when another machine handed
        something in since the last look."""
        if not self._slips.hand(slip):
            return False
        try:
            id = await self._carrier.submit(slip, items)
        except (KeyRefused, BadRequest):
            self._slips.mark_sent(slip.name, VOID)  # refused outright: nothing is under way
            raise
        self._slips.mark_sent(slip.name, id)
        self.underway = (
            *self.underway,
            RunningBatch(slip, id, BatchStatus(False, "handed in", total=len(items))),
        )
        self._filed |= dict.fromkeys(slip.items, FiledSlip(slip, id))
        return True

    def list_open(self) -> Mapping[str, Mapping[str, Sequence[float]]]:
        """Slip → what its items may take, those that came to nothing left out: they are not paid
        for."""
        undone = {filed.slip.name: filed.undone or {} for filed in self._own()}
        kept = [filed.slip for filed in self._own() if filed.slip.foreseen]
        void = {filed.slip.name for filed in self._own() if filed.id == VOID}
        return {
            slip.name: {}
            if slip.name in void
            else {
                item: took for item, took in slip.foreseen.items() if item not in undone[slip.name]
            }
            for slip in kept
        }

    def _own(self) -> list[FiledSlip]:
        return [
            filed
            for filed in self._slips.read()
            if (filed.slip.carrier, filed.slip.model) == (self._carrier.name, self._model)
        ]

    def _known(self, name: str, filed: FiledSlip) -> Outcome | None:
        return self._outcomes.get(filed.slip.name, {}).get(name) or (filed.undone or {}).get(name)

    async def _trace(self, filed: FiledSlip) -> None:
        """A kill fell between the slip and its id: find the batch, or know that there is none."""
        slip, others = filed.slip, frozenset(one.id for one in self._slips.read())
        try:
            id = await self._carrier.find(slip, others)
        except Pending:
            return
        abroad = (
            slip.host != socket.gethostname() and self._clock() - slip.handed_at < _FOREIGN_SENDING
        )
        if id is not None:
            self._slips.mark_sent(slip.name, id)
        elif not abroad:
            self._slips.mark_sent(slip.name, VOID)

    async def _close_ended(self) -> AsyncGenerator[RunningBatch]:
        """Look at what is open; what is over is closed, the rest comes out."""
        for filed in self._own():
            if filed.closed:
                continue
            if not filed.id:
                yield RunningBatch(
                    filed.slip,
                    "",
                    BatchStatus(
                        False, f"being sent by {filed.slip.host}", total=len(filed.slip.items)
                    ),
                )
                continue
            standing = await self._carrier.poll(filed.id)
            if standing.ended:
                self._slips.close(filed.slip.name, await self._load(filed))
            else:
                yield RunningBatch(filed.slip, filed.id, standing)

    async def _load(self, filed: FiledSlip) -> Mapping[str, Outcome]:
        if filed.slip.name not in self._outcomes:
            self._outcomes[filed.slip.name] = dict(
                await self._carrier.fetch(filed.id, filed.slip.items.keys())
            )
        return self._outcomes[filed.slip.name]
