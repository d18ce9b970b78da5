"""Anthropic's message batches: requests up in one body, results down as lines."""

from collections.abc import AsyncGenerator, Collection, Mapping, Sequence
from datetime import datetime

from envmill.base.errors import BadRequest, Pending
from envmill.models.batches.base import BatchItem, BatchSlip, BatchStatus, Fate, Outcome
from envmill.models.batches.reading import describe, read_rows
from envmill.models.connection import ApiConnection
from envmill.models.shape import take_count, take_object, take_objects, take_text
from schemas.base import Json

_BATCHES = "/v1/messages/batches"
_FATES: dict[str, Fate] = {
    "succeeded": "done",
    "errored": "failed",
    "expired": "expired",
    "canceled": "cancelled",
}
_REFUSALS = {"invalid_request_error", "not_found_error"}
_PAGE, _PAGES = 100, 20
_SKEW = 600.0  # seconds our clock may be ahead of the vendor's


class Anthropic:
    """One server."""

    name = "batch-anthropic"
    most_items = 100_000
    most_bytes = 240_000_000

    def __init__(self, connection: ApiConnection) -> None:
        self._connection = connection

    async def submit(self, slip: BatchSlip, items: Sequence[BatchItem]) -> str:  # noqa: ARG002  the vendor takes no note of ours
        order = {"requests": [{"custom_id": item.name, "params": item.body} for item in items]}
        return take_text((await self._connection.post(_BATCHES, order, self.name))["id"])

    async def find(self, slip: BatchSlip, others: frozenset[str]) -> str | None:
        """The vendor keeps no notes of ours: a batch of the same size is ours if its results bear
        our names, and those come at its end."""
        async for batch in self._list_since(slip.handed_at - _SKEW):
            id, total = (
                take_text(batch.get("id")),
                sum(take_count(count) for count in take_object(batch, "request_counts").values()),
            )
            if id in others or total != len(slip.items):
                continue
            if batch.get("processing_status") != "ended":
                raise Pending(
                    f"{self.name} {id} may be slip {slip.name}, which a kill cut off; its "
                    "results will tell.",
                    slip=slip.name,
                )
            if slip.items.keys() & {name for name, _ in await self._download(id)}:
                return id
        return None

    async def poll(self, id: str) -> BatchStatus:
        batch = await self._connection.get(f"{_BATCHES}/{id}", self.name)
        counts, said = (
            take_object(batch, "request_counts"),
            take_text(batch.get("processing_status")),
        )
        done, total = (
            take_count(counts.get("succeeded")),
            sum(take_count(count) for count in counts.values()),
        )
        return BatchStatus(
            said == "ended", said, done, total - done - take_count(counts.get("processing")), total
        )

    async def fetch(self, id: str, names: Collection[str]) -> Mapping[str, Outcome]:
        missing = Outcome("missing", said="the batch ended without a word on it")
        return dict.fromkeys(names, missing) | {
            name: _read_result(result) for name, result in await self._download(id)
        }

    async def cancel(self, id: str) -> None:
        await self._connection.post(f"{_BATCHES}/{id}/cancel", {}, self.name)

    async def close(self) -> None:
        await self._connection.close()

    async def _list_since(self, since: float) -> AsyncGenerator[dict[str, Json]]:
        after = ""
        for _ in range(_PAGES):
            page = await self._connection.get(f"{_BATCHES}?limit={_PAGE}{after}", self.name)
            found = take_objects(page.get("data"))
            for batch in found:
                if _read_time(batch) < since:
                    return  # the list begins with the newest
                yield batch
            if not page.get("has_more") or not found:
                return
            after = f"&after_id={found[-1].get('id')}"

    async def _download(self, id: str) -> list[tuple[str, dict[str, Json]]]:
        """(item, result). Results are kept for a month; after that their requests are as good as
        never asked."""
        try:
            rows = read_rows(await self._connection.load(f"{_BATCHES}/{id}/results", self.name))
        except BadRequest as error:
            if error.facts.get("status") == 404:
                return []
            raise
        return [
            (take_text(row.get("custom_id")), take_object(row, "result"))
            for row in take_objects(list(rows))
        ]


def _read_result(result: dict[str, Json]) -> Outcome:
    kind = take_text(result.get("type"))
    if kind == "succeeded":
        return Outcome("done", take_object(result, "message"))
    error = take_object(result, "error")
    inner = take_object(error, "error") or error
    refused = kind == "errored" and inner.get("type") in _REFUSALS
    said = f"{inner.get('type')}: {describe(inner)}" if kind == "errored" else kind
    return Outcome("refused" if refused else _FATES.get(kind, "failed"), said=said)


def _read_time(batch: Json) -> float:
    """Seconds since 1970; the far future when the server does not say, so that the batch is looked
    at."""
    try:
        return datetime.fromisoformat(take_text(batch.get("created_at"))).timestamp()
    except ValueError:
        return float("inf")
