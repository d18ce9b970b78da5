"""The lake: the only truth about progress. Which files count, what they say, and how a batch is added.

claim of the attempt ─► files of each table ─► attrition file, which commits the batch
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUnknownLambdaType=false
# (pyarrow ships no types)

import json
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from envmill.errors import LakeError
from envmill.lake.arrow import Stamp, from_arrow, to_arrow
from envmill.lake.files import BatchName, Mark, MergedName, file_name, folder_of
from envmill.lake.merges import Merges, unite
from envmill.lake.reading import encode, read_file
from envmill.lake.snapshot import Snapshot, take_snapshot
from envmill.lake.stores import Store, pick_store
from envmill.lake.stores.base import ask_each
from schemas.base import Record
from schemas.ledger import Attrition, Exit, RunEvent
from schemas.tables import TABLES

__all__ = ["Lake", "Mark"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")
_Exits = list[tuple[Mark, str, Exit, int]]
"""Step, subject, outcome and attempt."""

_LISTINGS = 3  # a file that went between listing and reading was replaced: the next listing names its successor


class Lake:
    """Tables of immutable Parquet files in one store."""

    def __init__(self, place: str | Path | Store) -> None:
        self.store: Store = pick_store(place) if isinstance(place, str | Path) else place
        self.merges = Merges(self.store)
        self._enlisted: set[str] = set()
        self._exits: dict[str, _Exits] = {}

    @property
    def url(self) -> str:
        """Where it lies: a folder's path, or a URL."""
        return self.store.url

    def runs(self) -> list[str]:
        """Runs that ever started, oldest first."""
        return [entry.stem for entry in sorted(self.store.entries("_runs"), key=lambda entry: (entry.modified, entry.name))]

    def snapshot(self, run: str, tables: Iterable[str] = TABLES) -> Snapshot:
        """Files of a run that count, all tables at one moment."""
        return take_snapshot(self.store, self.merges, run, tables)

    def files(self, table: str, run: str, mark: Mark | None = None) -> list[str]:
        """Paths or URLs of files that count. With a mark: those that may hold rows of it; merged files hold rows of many."""
        return [self.store.locate(name) for name in self._names(table, run, mark)]

    def read(self, record: type[R], run: str, mark: Mark | None = None) -> list[R]:
        """Rows in id order; of a row written twice the latest attempt counts."""
        latest: dict[str, dict[str, Any]] = {}
        for table in self._read_each(record.table, run, mark, lambda name: read_file(self.store, name, record)):
            for row in (table if mark is None else _keep_mark(table, mark)).to_pylist():
                if row["id"] not in latest or row["try_number"] > latest[row["id"]]["try_number"]:
                    latest[row["id"]] = row
        return from_arrow(record, (latest[key] for key in sorted(latest)))

    def outcomes(self, run: str, mark: Mark) -> dict[str, Exit]:
        """Subject → outcome of its latest attempt at this step."""
        found: dict[str, tuple[int, Exit]] = {}
        for exits in self._read_each("attrition", run, mark, self._read_exits):
            for made_by, subject, outcome, number in exits:
                if made_by == mark and number > found.get(subject, (0, ""))[0]:
                    found[subject] = (number, outcome)
        return {subject: outcome for subject, (_, outcome) in found.items()}

    def next_attempt(self, run: str, step: str, bucket: int) -> int:
        """One more than any attempt ever claimed, those of killed writers included."""
        stems = [entry.stem for folder in (_claims(run), folder_of("attrition", run)) for entry in self.store.entries(folder)]
        seen = (BatchName.parse(stem) for stem in (*stems, *self._replaced_attrition(run)))
        return 1 + max((name.attempt for name in seen if name and (name.step, name.bucket) == (step, bucket)), default=0)

    def publish(self, rows: Iterable[Record], attrition: Sequence[Attrition], stamp: Stamp) -> bool:
        """Add one batch; its attrition file goes last and commits it. False when another writer took the attempt.

        The claim comes first: files of two writers under one name would be committed together.
        """
        stem = _stem_of(stamp)
        if not self.store.put_if_absent(f"{_claims(stamp.run)}/{stem}.json", json.dumps({"writer": uuid.uuid4().hex}).encode()):
            return False
        by_table: dict[str, dict[str, Record]] = {}
        for row in rows:
            by_table.setdefault(row.table, {})[row.id] = row
        return all(self.put(TABLES[table], list(found.values()), stem, stamp) for table, found in by_table.items()) and self.put(
            Attrition, attrition, stem, stamp
        )

    def is_committed(self, stamp: Stamp) -> bool:
        """Whether a batch's attrition file is there, or was merged."""
        found = {entry.stem for entry in self.store.entries(folder_of("attrition", stamp.run))}
        return _stem_of(stamp) in found | self._replaced_attrition(stamp.run)

    def put(self, record: type[Record], rows: Sequence[Record], stem: str, stamp: Stamp) -> bool:
        """Publish one file under a name of its own."""
        if record is RunEvent:
            self._enlist(stamp.run)
        return self.store.put_if_absent(file_name(record.table, stamp.run, stem), encode(to_arrow(record, rows, stamp)))

    def fix(self, run: str, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Decide something once for a run: the first writer's value holds for everybody."""
        path = f"_fixed/run={run}/{name}.json"
        try:
            return json.loads(self.store.read(path))
        except FileNotFoundError:
            self.store.put_if_absent(path, json.dumps(value, sort_keys=True).encode())
        return json.loads(self.store.read(path))

    def _enlist(self, run: str) -> None:
        """Name the run once, so that a list of runs is one listing and knows their order."""
        if run not in self._enlisted:
            self.store.put_if_absent(f"_runs/{run}.json", b"{}")
            self._enlisted.add(run)

    def _replaced_attrition(self, run: str) -> frozenset[str]:
        return unite([one.replaces for one in self.merges.read(self.merges.names(run))], "attrition")

    def _names(self, table: str, run: str, mark: Mark | None) -> list[str]:
        entries = self.snapshot(run, [table]).files[table]
        return [entry.name for entry in entries if mark is None or _may_hold(entry.stem, mark)]

    def _read_exits(self, name: str) -> "_Exits":
        """Exits of one attrition file, kept: a step asks for its outcomes once per bucket, and files never change."""
        if name not in self._exits:
            from pyarrow.compute import field  # 60 ms that a question in SQL need not wait for

            rows = read_file(self.store, name, Attrition, ["gate", "step", "fingerprint", "subject", "outcome", "try_number"])
            columns = (rows.filter(field("gate") == "exit")[column].to_pylist() for column in rows.column_names[1:])
            self._exits[name] = [
                (Mark(step, fingerprint), subject, outcome, number)
                for step, fingerprint, subject, outcome, number in zip(*columns, strict=True)
            ]
        return self._exits[name]

    def _read_each(self, table: str, run: str, mark: Mark | None, read: Callable[[str], T]) -> list[T]:
        """What was read of each file that counts, all of one listing."""
        gone: FileNotFoundError | None = None
        for _ in range(_LISTINGS):
            try:
                return ask_each(self.store, read, self._names(table, run, mark))
            except FileNotFoundError as error:
                gone = error
        assert gone is not None
        raise LakeError(f"{gone.filename} counts and is gone. Restore it from a copy: rows of run {run} would be missing.") from gone


def _claims(run: str) -> str:
    return f"_claims/run={run}"


def _stem_of(stamp: Stamp) -> str:
    return BatchName(stamp.step, stamp.bucket, stamp.fingerprint[:8], stamp.try_number).stem


def _may_hold(stem: str, mark: Mark) -> bool:
    name = BatchName.parse(stem)
    return (name.step, name.fp8) == (mark.step, mark.fp8) if name else MergedName.parse(stem) is not None


def _keep_mark(table: pa.Table, mark: Mark) -> pa.Table:
    from pyarrow.compute import field

    return table.filter((field("step") == mark.step) & (field("fingerprint") == mark.fingerprint))
