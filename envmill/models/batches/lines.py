"""Plain files as a carrier: `<slip>.in.jsonl` goes out, somebody runs it (`vllm run-batch -i … -o
…`), `<slip>.out.jsonl` comes back."""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

import orjson

from envmill.base.errors import BadRequest
from envmill.lake.stores.local import LocalStore
from envmill.models.batches.base import BatchItem, BatchSlip, BatchStatus, Outcome
from envmill.models.batches.reading import read_line, read_rows


class Lines:
    """A folder that people and offline servers look into."""

    name = "batch-lines"
    most_items = 1_000_000
    most_bytes = 1 << 32

    def __init__(self, folder: Path, path: str) -> None:
        self.folder, self._path = folder, path

    async def submit(self, slip: BatchSlip, items: Sequence[BatchItem]) -> str:
        """The file is there whole or not at all."""
        rows = (
            {"custom_id": item.name, "method": "POST", "url": self._path, "body": item.body}
            for item in items
        )
        LocalStore(str(self.folder)).put_if_absent(
            f"{slip.name}.in.jsonl", b"".join(orjson.dumps(row) + b"\n" for row in rows)
        )
        return slip.name

    async def find(self, slip: BatchSlip, others: frozenset[str]) -> str | None:  # noqa: ARG002  the slip names the file
        return slip.name if self._in(slip.name).exists() else None

    async def poll(self, id: str) -> BatchStatus:
        """Over when every request has its line, or when it was called off. Half a line at the end
        is still being written."""
        asked, fates = (
            self._read_names(id),
            [outcome.fate for outcome in self._read_outcomes(id).values()],
        )
        done, over = fates.count("done"), self._stopped(id).exists()
        said = (
            "called off"
            if over
            else f"waits for {self._out(id)}"
            if len(fates) < len(asked)
            else "complete"
        )
        return BatchStatus(
            over or len(fates) >= len(asked), said, done, len(fates) - done, len(asked)
        )

    async def fetch(self, id: str, names: Collection[str]) -> Mapping[str, Outcome]:
        called_off = Outcome("cancelled", said="called off before its line was written")
        return dict.fromkeys(names, called_off) | self._read_outcomes(id)

    async def cancel(self, id: str) -> None:
        """What has its line counts; the rest is handed in again."""
        self.folder.mkdir(parents=True, exist_ok=True)
        self._stopped(id).touch()

    async def close(self) -> None:
        return

    def _in(self, id: str) -> Path:
        return self.folder / f"{id}.in.jsonl"

    def _out(self, id: str) -> Path:
        return self.folder / f"{id}.out.jsonl"

    def _stopped(self, id: str) -> Path:
        return self.folder / f"{id}.stopped"

    def _read_names(self, id: str) -> set[str]:
        try:
            return {row["custom_id"] for row in read_rows(self._in(id).read_bytes())}
        except FileNotFoundError as error:
            if self._stopped(id).exists():
                return set()
            raise BadRequest(
                f"{self._in(id)} is gone. Restore it, or cancel its batch: `envmill batches RUN "
                f"--cancel {id}`."
            ) from error

    def _read_outcomes(self, id: str) -> dict[str, Outcome]:
        """A request that has several lines, since the server was run again, counts by its best."""
        found: dict[str, Outcome] = {}
        names = self._read_names(id)
        if self._out(id).exists():
            for row in read_rows(self._out(id).read_bytes()):
                name, outcome = read_line(row)
                if name in names and (name not in found or found[name].fate != "done"):
                    found[name] = outcome
        return found
