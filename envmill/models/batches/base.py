"""What a carrier is: a slip of requests goes out under one id, and comes back as one outcome per
request."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from schemas.base import Json

Fate = Literal["done", "refused", "failed", "expired", "cancelled", "missing"]
"""What became of one request of a batch. Only `done` and `refused` settle it; the others are handed
in again."""


@dataclass(frozen=True)
class BatchItem:
    """One request of a batch."""

    name: str
    """The request's key and its sample: what the carrier calls `custom_id`."""
    body: Json
    """What would be sent if it were asked alone."""


@dataclass(frozen=True)
class Outcome:
    """What came back for one request."""

    fate: Fate
    body: Json = None
    """The reply as the vendor's interface gives it, when done."""
    said: str = ""
    """What the vendor says of a request that was not done."""
    param: str = ""
    """Field it refused, when it names one."""


@dataclass(frozen=True)
class BatchStatus:
    """How far a batch is, by its carrier."""

    ended: bool
    said: str
    """The carrier's own word for it."""
    done: int = 0
    failed: int = 0
    total: int = 0


@dataclass(frozen=True)
class BatchSlip:
    """What is handed in at once. It is written down before it is sent, so that a kill in between
    sends nothing twice."""

    name: str
    """Ours; a carrier that keeps notes is told it."""
    carrier: str
    model: str
    handed_at: float
    """Seconds since 1970."""
    host: str
    """Machine that handed it in."""
    step: str
    items: Mapping[str, str]
    """Item's name → candidate it is for."""
    foreseen: Mapping[str, Sequence[float]] = field(default_factory=dict[str, Sequence[float]])
    """Item's name → money and tokens it may take; empty for a run without a budget."""
    dropped: Sequence[str] = ()
    """Optional fields its requests went out without, since the server had refused them."""


class Carrier(Protocol):
    """One way to have many requests answered later. Raises what a provider raises."""

    name: str
    most_items: int
    most_bytes: int
    """Of one batch."""

    async def submit(self, slip: BatchSlip, items: Sequence[BatchItem]) -> str:
        """Send a batch off; returns the carrier's id of it."""
        ...

    async def find(self, slip: BatchSlip, others: frozenset[str]) -> str | None:
        """The batch of a slip whose sending was cut off, if there is one; Pending while nobody can
        tell. `others`: ids of other slips."""
        ...

    async def poll(self, id: str) -> BatchStatus:
        """How far it is."""
        ...

    async def fetch(self, id: str, names: Collection[str]) -> Mapping[str, Outcome]:
        """Outcomes of a batch that ended, by item: one for every name, also where the batch has no
        word on it."""
        ...

    async def cancel(self, id: str) -> None:
        """Stop it; what is done stays done."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...
