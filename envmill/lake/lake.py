"""The lake: the only truth about progress. Which files count, what they say, and how a batch is added."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from envmill.errors import LakeError
from envmill.lake.arrow import Stamp, arrow_schema, from_arrow, to_arrow
from envmill.lake.files import BatchName, list_stems, put_if_absent
from schemas.base import Record
from schemas.ledger import Attrition, Exit
from schemas.tables import TABLES

R = TypeVar("R", bound=Record)


@dataclass(frozen=True)
class Mark:
    """A step as it was configured: rows of another mark are somebody else's work."""

    step: str
    fingerprint: str

    @property
    def fp8(self) -> str:
        return self.fingerprint[:8]


class Lake:
    """Tables of immutable Parquet files under one folder."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def runs(self) -> list[str]:
        """Runs that ever started, oldest first."""
        folders = (self.root / "run_events").glob("run=*")
        return [folder.name.removeprefix("run=") for folder in sorted(folders, key=lambda folder: folder.stat().st_ctime_ns)]

    def files(self, table: str, run: str, mark: Mark | None = None) -> list[Path]:
        """Files of a table that count: those of committed batches, and those that no batch made."""
        folder = self._folder(table, run)
        committed = set(list_stems(self._folder("attrition", run)))
        stems = [stem for stem in list_stems(folder) if stem in committed or BatchName.parse(stem) is None]
        if mark is not None:
            stems = [stem for stem in stems if (name := BatchName.parse(stem)) and (name.step, name.fp8) == (mark.step, mark.fp8)]
        return sorted(folder / f"{stem}.parquet" for stem in stems)

    def read(self, record: type[R], run: str, mark: Mark | None = None) -> list[R]:
        """Rows in id order; of a row written twice the latest attempt counts."""
        latest: dict[str, dict[str, Any]] = {}
        for row in self._rows(record, self.files(record.table, run, mark)):
            if row["id"] not in latest or row["try_number"] > latest[row["id"]]["try_number"]:
                latest[row["id"]] = row
        return from_arrow(record, (latest[key] for key in sorted(latest)))

    def outcomes(self, run: str, mark: Mark) -> dict[str, Exit]:
        """Subject → outcome of its latest attempt at this step."""
        found: dict[str, tuple[int, Exit]] = {}
        columns = ["gate", "subject", "outcome", "try_number"]
        for row in self._rows(Attrition, self.files("attrition", run, mark), columns):
            if row["gate"] == "exit" and row["try_number"] > found.get(row["subject"], (0, ""))[0]:
                found[row["subject"]] = (row["try_number"], row["outcome"])
        return {subject: outcome for subject, (_, outcome) in found.items()}

    def next_attempt(self, run: str, step: str, bucket: int) -> int:
        """One more than any attempt seen, unpublished remains of killed writers included."""
        seen = (BatchName.parse(stem) for table in TABLES for stem in list_stems(self._folder(table, run)))
        return 1 + max((name.attempt for name in seen if name and (name.step, name.bucket) == (step, bucket)), default=0)

    def publish(self, rows: Iterable[Record], attrition: Sequence[Attrition], stamp: Stamp) -> bool:
        """Add one batch; its attrition file goes last and commits it. False when another writer took the attempt."""
        stem = BatchName(stamp.step, stamp.bucket, stamp.fingerprint[:8], stamp.try_number).stem
        by_table: dict[str, dict[str, Record]] = {}
        for row in rows:
            by_table.setdefault(row.table, {})[row.id] = row
        return all(self.put(TABLES[table], list(found.values()), stem, stamp) for table, found in by_table.items()) and self.put(
            Attrition, attrition, stem, stamp
        )

    def put(self, record: type[Record], rows: Sequence[Record], stem: str, stamp: Stamp) -> bool:
        """Publish one file under a name of its own."""
        buffer = BytesIO()
        pq.write_table(to_arrow(record, rows, stamp), buffer, compression="zstd")
        return put_if_absent(self._folder(record.table, stamp.run) / f"{stem}.parquet", buffer.getvalue())

    def fixed(self, run: str, name: str) -> dict[str, Any] | None:
        """What was decided for a run, if it was."""
        path = self._fixed(run, name)
        return json.loads(path.read_bytes()) if path.exists() else None

    def fix(self, run: str, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Decide something once for a run: the first writer's value holds for everybody."""
        path = self._fixed(run, name)
        if not path.exists():
            put_if_absent(path, json.dumps(value, sort_keys=True).encode())
        return json.loads(path.read_bytes())

    def _fixed(self, run: str, name: str) -> Path:
        return self.root / "_fixed" / f"run={run}" / f"{name}.json"

    def _folder(self, table: str, run: str) -> Path:
        return self.root / table / f"run={run}"

    def _rows(self, record: type[Record], files: Sequence[Path], columns: list[str] | None = None) -> Iterable[dict[str, Any]]:
        wanted = arrow_schema(record)
        for file in files:
            yield from _read_file(file, wanted, columns).to_pylist()


def _read_file(file: Path, wanted: pa.Schema, columns: list[str] | None) -> pa.Table:
    try:
        opened = pq.ParquetFile(file)
        if not opened.schema_arrow.equals(wanted):
            raise LakeError(f"{file} has another shape than this version writes. Read it with the version that wrote it, or move it away.")
        return opened.read(columns=columns)
    except (OSError, pa.ArrowInvalid) as error:
        raise LakeError(f"{file} cannot be read ({error}). Restore it from a copy, or delete it: its batch is then made again.") from error
