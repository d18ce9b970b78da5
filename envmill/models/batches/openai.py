"""OpenAI's batches, and every server's that speaks like it: a file of requests up, a file of
results and one of errors down."""

from collections.abc import Collection, Mapping, Sequence

import orjson

from envmill.base.errors import BadRequest
from envmill.models.batches.base import BatchItem, BatchSlip, BatchStatus, Fate, Outcome
from envmill.models.batches.reading import read_line, read_rows
from envmill.models.connection import ApiConnection
from envmill.models.sdk import FileUpload
from envmill.models.shape import take_count, take_object, take_objects, take_text
from schemas.base import Json

_OVER: dict[str, Fate] = {
    "completed": "missing",
    "expired": "expired",
    "cancelled": "cancelled",
    "failed": "failed",
}
"""The carrier's last words → fate of a request that has no line of its own."""
_MARK = "envmill_slip"
_PAGE, _PAGES = 100, 20
"""The latest 2,000 batches are looked through for one whose id was lost."""


class OpenAI:
    """One server."""

    name = "batch-openai"
    most_items = 50_000
    most_bytes = 190_000_000

    def __init__(self, connection: ApiConnection, path: str) -> None:
        self._connection, self._path = connection, path

    async def submit(self, slip: BatchSlip, items: Sequence[BatchItem]) -> str:
        """The slip's name goes along, so that the batch can be found again."""
        rows = (
            {"custom_id": item.name, "method": "POST", "url": self._path, "body": item.body}
            for item in items
        )
        content = b"".join(orjson.dumps(row) + b"\n" for row in rows)
        file = await self._connection.upload(
            "/files", FileUpload({"purpose": "batch"}, f"{slip.name}.jsonl", content), self.name
        )
        order = {
            "input_file_id": file["id"],
            "endpoint": self._path,
            "completion_window": "24h",
            "metadata": {_MARK: slip.name},
        }
        return take_text((await self._connection.post("/batches", order, self.name))["id"])

    async def find(self, slip: BatchSlip, others: frozenset[str]) -> str | None:  # noqa: ARG002  the slip is named in the batch
        after = ""
        for _ in range(_PAGES):
            page = await self._connection.get(f"/batches?limit={_PAGE}{after}", self.name)
            found = take_objects(page.get("data"))
            for batch in found:
                if take_object(batch, "metadata").get(_MARK) == slip.name:
                    return take_text(batch.get("id"))
            if not page.get("has_more") or not found:
                return None
            after = f"&after={found[-1].get('id')}"
        return None

    async def poll(self, id: str) -> BatchStatus:
        batch = await self._connection.get(f"/batches/{id}", self.name)
        counts, said = take_object(batch, "request_counts"), take_text(batch.get("status"))
        done, failed, total = (
            take_count(counts.get(name)) for name in ("completed", "failed", "total")
        )
        return BatchStatus(
            said in _OVER, "; ".join([said, *_describe_faults(batch)]), done, failed, total
        )

    async def fetch(self, id: str, names: Collection[str]) -> Mapping[str, Outcome]:
        batch = await self._connection.get(f"/batches/{id}", self.name)
        status = take_text(batch.get("status"))
        rest = Outcome(
            _OVER.get(status, "missing"),
            said="; ".join([f"the batch ended as {status}", *_describe_faults(batch)]),
        )
        outcomes = dict.fromkeys(names, rest)
        for file in (
            "error_file_id",
            "output_file_id",
        ):  # replies last: an item with both counts as done
            if name := take_text(batch.get(file)):
                outcomes |= dict(read_line(row) for row in await self._download(name))
        return outcomes

    async def cancel(self, id: str) -> None:
        await self._connection.post(f"/batches/{id}/cancel", {}, self.name)

    async def close(self) -> None:
        await self._connection.close()

    async def _download(self, file: str) -> list[Json]:
        """Files are deleted after a while; their requests are then as good as never asked."""
        try:
            return list(read_rows(await self._connection.load(f"/files/{file}/content", self.name)))
        except BadRequest as error:
            if error.facts.get("status") == 404:
                return []
            raise


def _describe_faults(batch: Json) -> list[str]:
    """Why a batch failed as a whole, for its first few lines."""
    return [
        take_text(fault.get("message"))
        for fault in take_objects(take_object(batch, "errors").get("data"))
    ][:3]
