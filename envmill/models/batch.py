"""A provider that answers later: what it does not know yet waits for the next batch, and the step
ends pending.

complete ─► slip of a batch that ended ─► completion
        ├─► slip of a batch under way  ─► Pending
        └─► on no slip, or undone      ─► waiting ─► Pending ── hand_in, at the step's end ──► one batch for all that wait
"""

import asyncio
import socket
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, replace

from envmill.base.errors import BadRequest, KeyRefused, Outage, Pending, SettingsError
from envmill.base.settings import Endpoint, Settings
from envmill.lake.stores import Store
from envmill.models.base import Completion, Request
from envmill.models.batches import CARRIERS, DIALECTS, folder_of
from envmill.models.batches.base import BatchItem, BatchSlip, Carrier, Outcome
from envmill.models.batches.slips import Slips
from envmill.models.batches.watch import BatchWatch, RunningBatch
from envmill.models.budget import Amount, Budget, Hold
from envmill.models.dialect import Dialect, ModelTerms, concede
from envmill.models.role_models import CONVERSING, VENDORS, find_endpoint
from envmill.models.spec import Spec
from schemas.base import canonical_json

__all__ = ["Batch", "RunningBatch", "open_batch", "open_carrier", "wait_before_looking"]

_TRIES = 3  # batches in a row that brought nothing back for an item; then somebody should look
_SOONEST, _LATEST = 60.0, 1800.0  # seconds between two looks at a batch
_LINE = 256  # bytes around the body of a request


@dataclass(frozen=True)
class Waiting:
    """A request on no slip yet."""

    item: BatchItem
    step: str
    subject: str
    hold: Hold | None
    """What is set aside for it."""


class Batch:
    """Answers single prompts through a carrier. What is sent and what came of it is known by the
    run's slips, in every process."""

    def __init__(
        self,
        carrier: Carrier,
        dialect: Dialect,
        model: str,
        slips: Slips,
        lease: Callable[[], AbstractAsyncContextManager[object]],
        endpoint: str = "",
        own: bool = True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.name, self.model = carrier.name, f"{model}@{endpoint}" if endpoint else model
        self._carrier, self._dialect, self._lease, self._clock = carrier, dialect, lease, clock
        self._watch = BatchWatch(carrier, self.model, slips, clock)
        self._asked, self._terms = model, ModelTerms(own=own)
        self._lock = asyncio.Lock()
        self._looked = False
        self._given_up: set[str] = set()
        self._waiting: dict[str, Waiting] = {}
        self._budget: Budget | None = None
        self._is_read: Callable[[str, int], bool] = _never
        self._expected: dict[str, tuple[Amount, bool]] = {}

    def bind(self, budget: Budget | None, is_read: Callable[[str, int], bool]) -> None:
        """Hold what is handed in to a budget; `is_read` says whether the ledger has the reply of a
        key and sample."""
        self._budget, self._is_read = budget, is_read

    def expect(self, request: Request, foreseen: Amount, guessed: bool) -> None:
        """What a request may take, should it have to go out."""
        self._expected[_name(request, self.model)] = foreseen, guessed

    def settle(self, request: Request, took: Amount) -> None:
        """A reply was read."""
        name = _name(request, self.model)
        if self._budget is not None and (filed := self._watch.find(name)) is not None:
            self._budget.take(filed.slip.name, _read_amount(filed.slip.foreseen.get(name)), took)

    async def complete(self, request: Request) -> Completion:
        """What a batch brought back; Pending until one has."""
        _require_single(request)
        name = _name(request, self.model)
        outcome = await self._find(name, request.subject)
        if outcome is not None and outcome.fate == "done":
            try:
                return self._dialect.read(outcome.body)
            except Outage as error:
                outcome = self._watch.spoil(name, error.message)
        if outcome is not None and outcome.fate == "refused":
            self._concede(request, name, outcome)
        self._check_tries(request, name, outcome)
        written = self._dialect.write(request, self._asked, self._terms)
        if name not in self._waiting:
            self._waiting[name] = Waiting(
                BatchItem(name, written.body), request.step, request.subject, self._set_aside(name)
            )
        raise Pending(f"{request.subject} will be submitted with the next batch.", slip="")

    async def hand_in(self) -> tuple[RunningBatch, ...]:
        """Send what waits, and say what is under way. The next question looks at every batch
        anew."""
        async with self._lock:
            self._looked = False
            if self._waiting:
                async with self._lease():
                    await self._send_waiting()
            return self._watch.underway

    async def _send_waiting(self) -> None:
        """In as few batches as the carrier takes. Of two machines that hand in at once one is
        first, and the other looks again."""
        await self._poll()
        while lacking := [
            one for name, one in self._waiting.items() if self._watch.is_lacking(name)
        ]:
            chunk = next(_split(lacking, self._carrier))
            slip = self._make_slip(chunk)
            self._commit(slip.name, slip.foreseen.values())
            try:
                sent = await self._watch.send(slip, [one.item for one in chunk])
            except (KeyRefused, BadRequest):
                self._commit(slip.name, [])
                raise
            if sent:
                self._let_go(chunk)
            else:
                self._commit(slip.name, [])
                await self._poll()
        self._let_go(list(self._waiting.values()))

    async def _poll(self) -> None:
        """At every slip, and at what those that are not read yet may still take."""
        await self._watch.poll()
        if self._budget is not None:
            for slip, items in self._watch.list_open().items():
                self._commit(
                    slip,
                    [took for item, took in items.items() if not self._is_read(*_split_name(item))],
                )

    def _commit(self, slip: str, amounts: Iterable[Sequence[float]]) -> None:
        if self._budget is not None:
            self._budget.commit(slip, sum(map(_read_amount, amounts), Amount()))

    def _set_aside(self, name: str) -> Hold | None:
        if self._budget is None or name not in self._expected:
            return None
        return self._budget.set_aside(*self._expected[name])

    def _let_go(self, waiting: Sequence[Waiting]) -> None:
        """They are on a slip: what was set aside for them is the slip's now."""
        for one in waiting:
            del self._waiting[one.item.name]
            if one.hold is not None:
                one.hold.settle(Amount())

    async def close(self) -> None:
        """Requests that nobody handed in are asked again by the next process: nothing was paid for
        them."""
        self._let_go(list(self._waiting.values()))
        await self._carrier.close()

    async def _find(self, name: str, subject: str) -> Outcome | None:
        async with self._lock:
            if not self._looked:
                async with self._lease():
                    await self._poll()
                self._looked = True
                self._terms = replace(
                    self._terms, dropped=self._terms.dropped | self._watch.dropped()
                )
            filed = self._watch.find(name)
            if filed is not None and not filed.closed:
                raise Pending(
                    f"{subject} waits for {self.name} {filed.id or filed.slip.name}.",
                    slip=filed.slip.name,
                )
            return await self._watch.fetch(name)

    def _concede(self, request: Request, name: str, outcome: Outcome) -> None:
        """A request refused for an optional field goes out again without it; any other would be
        refused again."""
        refused = BadRequest(
            f"{self.name} refused {request.prompt.name} for {request.subject}: {outcome.said}",
            param=outcome.param,
        )
        filed = self._watch.find(name)
        sent = replace(
            self._terms, dropped=frozenset(filed.slip.dropped) if filed else frozenset[str]()
        )
        granted = concede(
            refused, self._dialect.write(request, self._asked, sent), sent, self._dialect.optional
        )
        if granted is None:
            raise refused
        self._terms = replace(
            self._terms,
            dropped=self._terms.dropped | granted.dropped,
            most_output=granted.most_output,
        )

    def _check_tries(self, request: Request, name: str, outcome: Outcome | None) -> None:
        """Enough is enough for this process; whoever retries the run gives the item as many batches
        again."""
        if name not in self._given_up:
            if self._watch.count_tries(name) < _TRIES:
                return
            self._given_up.add(name)
            self._watch.excuse(name)
        said = outcome.said if outcome else "nothing"
        raise BadRequest(
            f"{_TRIES} batches in a row brought nothing back for {request.subject} "
            f"({request.prompt.name}); the last one said: {said}. "
            "Retry the run for as many more, or start one with a direct provider."
        )

    def _make_slip(self, chunk: Sequence[Waiting]) -> BatchSlip:
        step = chunk[0].step
        return BatchSlip(
            name=f"{step or 'run'}-{uuid.uuid4().hex[:12]}",
            carrier=self.name,
            model=self.model,
            handed_at=self._clock(),
            host=socket.gethostname(),
            step=step,
            items={one.item.name: one.subject for one in chunk},
            foreseen={
                one.item.name: (one.hold.amount.money, one.hold.amount.tokens)
                for one in chunk
                if one.hold is not None
            },
            dropped=tuple(sorted(self._terms.dropped)),
        )


def _name(request: Request, model: str) -> str:
    return f"{request.key(model)}-{request.sample}"


def _never(key: str, sample: int) -> bool:  # noqa: ARG001  no ledger, nothing read
    return False


def _split_name(name: str) -> tuple[str, int]:
    key, _, sample = name.rpartition("-")
    return key, int(sample)


def _read_amount(stored: Sequence[float] | None) -> Amount:
    return Amount() if stored is None else Amount(float(stored[0]), int(stored[1]))


def open_carrier(spec: Spec, settings: Settings, run: str) -> Carrier:
    """Who takes the batches of a model like `batch-openai:gpt-x`."""
    return CARRIERS[spec.direct.provider](
        _find_place(spec, settings), folder_of(settings.home, run)
    )


def open_batch(
    spec: Spec,
    settings: Settings,
    store: Store,
    run: str,
    lease: Callable[[], AbstractAsyncContextManager[object]],
) -> Batch:
    """A model asked through batches, with the slips of a run."""
    dialect, own = (
        DIALECTS[spec.direct.provider](),
        spec.direct.provider in VENDORS and not _find_place(spec, settings).url,
    )
    return Batch(
        open_carrier(spec, settings, run),
        dialect,
        spec.model,
        Slips(store, run),
        lease,
        spec.endpoint,
        own,
    )


def _find_place(spec: Spec, settings: Settings) -> Endpoint:
    return find_endpoint(spec.direct, settings) if spec.direct.provider in VENDORS else Endpoint("")


def wait_before_looking(underway: Sequence[RunningBatch], now: float) -> float:
    """Seconds until a look is worth it: a batch that has taken an hour is not over in the next
    minute."""
    youngest = min((now - one.slip.handed_at for one in underway), default=0.0)
    return min(max(youngest / 4, _SOONEST), _LATEST)


def _require_single(request: Request) -> None:
    if request.tools or request.role in CONVERSING:
        raise SettingsError(
            f"{request.prompt.name} for {request.subject} is a conversation of the {request.role}, "
            f"and each turn of it would wait for a batch. Give the role {request.role} a direct "
            "provider."
        )


def _split(waiting: list[Waiting], carrier: Carrier) -> Iterator[list[Waiting]]:
    """As few batches as the carrier takes."""
    chunk: list[Waiting] = []
    size = 0
    for one in waiting:
        bytes_of_one = len(canonical_json(one.item.body).encode("utf-8", "surrogatepass")) + _LINE
        if chunk and (len(chunk) >= carrier.most_items or size + bytes_of_one > carrier.most_bytes):
            yield chunk
            chunk, size = [], 0
        chunk.append(one)
        size += bytes_of_one
    if chunk:
        yield chunk
