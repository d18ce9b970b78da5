"""The lake: the only truth about progress. Which files count, what they say, and how a batch is
added.

claim of the attempt ─► files of each table ─► attrition file, which commits the batch
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUnknownLambdaType=false
# (pyarrow ships no types)

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa

from envmill.lake.arrow import Stamp, from_arrow, to_arrow
from envmill.lake.attempts import Attempts
from envmill.lake.files import BatchName, Fingerprint, MergedName, file_name
from envmill.lake.merges import MergeRecords
from envmill.lake.reading import describe_gone, encode, read_file
from envmill.lake.snapshot import FileSnapshot, take_snapshot
from envmill.lake.stores import Store, pick_store
from envmill.lake.stores.base import ask_each
from schemas.base import Record
from schemas.ledger import Attrition, Exit, RunEvent
from schemas.tables import TABLES

__all__ = ["Fingerprint", "Lake"]

R = TypeVar("R", bound=Record)
T = TypeVar("T")
_Exits = list[tuple[Fingerprint, str, Exit, int]]
"""Step, subject, outcome and attempt."""

# a file that went between listing and reading was replaced: the next listing names its successor
_LISTINGS = 3


class Lake:
    """Tables of immutable Parquet files in one store."""

    def __init__(self, place: str | Path | Store) -> None:
        self.store: Store = pick_store(place) if isinstance(place, str | Path) else place
        self.merges = MergeRecords(self.store)
        self.attempts = Attempts(self.store, self.merges)
        self._enlisted: set[str] = set()
        self._exits: dict[str, _Exits] = {}

    @property
    def url(self) -> str:
        """Where it lies: a folder's path, or a URL."""
        return self.store.url

    def runs(self) -> list[str]:
        """Runs that ever started, oldest first."""
        return [
            entry.stem
            for entry in sorted(
                self.store.entries("_runs"), key=lambda entry: (entry.modified, entry.name)
            )
        ]

    def runs_with(self, record: type[Record]) -> list[str]:
        """Runs that may have rows in a table: one listing, however many runs there are."""
        return [name.removeprefix("run=") for name in self.store.folders(record.table)]

    def snapshot(self, run: str, tables: Iterable[str] = TABLES) -> FileSnapshot:
        """Files of a run that count, all tables at one moment."""
        return take_snapshot(self.store, self.merges, run, tables)

    def files(self, table: str, run: str, mark: Fingerprint | None = None) -> list[str]:
        """Paths or URLs of files that count. With a mark: those that may hold rows of it; merged
        files hold rows of many."""
        return [self.store.locate(name) for name in self._names(table, run, mark)]

    def read(self, record: type[R], run: str, mark: Fingerprint | None = None) -> list[R]:
        """Rows in id order; of a row written twice the latest attempt counts."""
        latest: dict[str, dict[str, Any]] = {}
        for table in self._read_each(
            record.table, run, mark, lambda name: read_file(self.store, name, record)
        ):
            for row in (table if mark is None else _keep_mark(table, mark)).to_pylist():
                if row["id"] not in latest or row["try_number"] > latest[row["id"]]["try_number"]:
                    latest[row["id"]] = row
        return from_arrow(record, (latest[key] for key in sorted(latest)))

    def outcomes(self, run: str, mark: Fingerprint) -> dict[str, Exit]:
        """Subject → outcome of its latest attempt at this step."""
        found: dict[str, tuple[int, Exit]] = {}
        for exits in self._read_each("attrition", run, mark, self._read_exits):
            for made_by, subject, outcome, number in exits:
                if made_by == mark and number > found.get(subject, (0, ""))[0]:
                    found[subject] = (number, outcome)
        return {subject: outcome for subject, (_, outcome) in found.items()}

    def next_attempt(self, run: str, step: str, bucket: int) -> int:
        """One more than any attempt ever claimed."""
        return self.attempts.next(run, step, bucket)

    def publish(self, rows: Iterable[Record], attrition: Sequence[Attrition], stamp: Stamp) -> bool:
        """Claim an attempt and add its batch. False when another writer took the attempt, or ended
        it."""
        by_table = group_rows(rows)
        batch = self.attempts.claim(stamp, by_table)
        return batch is not None and self.commit(batch, by_table, attrition, stamp)

    def commit(
        self,
        batch: BatchName,
        by_table: Mapping[str, Sequence[Record]],
        attrition: Sequence[Attrition],
        stamp: Stamp,
    ) -> bool:
        """Add the batch of a claimed attempt; its attrition file goes last and commits it. False
        when somebody ended the attempt."""
        for table, record in TABLES.items():
            if batch.is_in(table) and not self.put(
                record, by_table.get(table, ()), batch.stem, stamp
            ):
                return False
        return self.put(Attrition, attrition, batch.commit, stamp)

    def put(self, record: type[Record], rows: Sequence[Record], stem: str, stamp: Stamp) -> bool:
        """Publish one file under a name of its own."""
        if record is RunEvent:
            self._enlist(stamp.run)
        return self.store.put_if_absent(
            file_name(record.table, stamp.run, stem), encode(to_arrow(record, rows, stamp))
        )

    def fix(self, run: str, name: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """Decide something once for a run: the first writer's value holds for everybody."""
        path = f"_fixed/run={run}/{name}.json"
        try:
            return json.loads(self.store.read(path))
        except FileNotFoundError:
            self.store.put_if_absent(path, json.dumps(value, sort_keys=True).encode())
        return json.loads(self.store.read(path))

    def find_fixed(self, run: str, name: str) -> dict[str, Any] | None:
        """What was decided, or None where nobody has."""
        try:
            return json.loads(self.store.read(f"_fixed/run={run}/{name}.json"))
        except FileNotFoundError:
            return None

    def _enlist(self, run: str) -> None:
        """Name the run once, so that a list of runs is one listing and knows their order."""
        if run not in self._enlisted:
            self.store.put_if_absent(f"_runs/{run}.json", b"{}")
            self._enlisted.add(run)

    def _names(self, table: str, run: str, mark: Fingerprint | None) -> list[str]:
        entries = self.snapshot(run, [table]).files[table]
        return [entry.name for entry in entries if mark is None or _may_hold(entry.stem, mark)]

    def _read_exits(self, name: str) -> "_Exits":
        """Exits of one attrition file, kept: a step asks for its outcomes once per bucket, and
        files never change."""
        if name not in self._exits:
            from pyarrow.compute import field  # 60 ms that a question in SQL need not wait for

            rows = read_file(
                self.store,
                name,
                Attrition,
                ["gate", "step", "fingerprint", "subject", "outcome", "try_number"],
            )
            columns = (
                rows.filter(field("gate") == "exit")[column].to_pylist()
                for column in rows.column_names[1:]
            )
            self._exits[name] = [
                (Fingerprint(step, fingerprint), subject, outcome, number)
                for step, fingerprint, subject, outcome, number in zip(*columns, strict=True)
            ]
        return self._exits[name]

    def _read_each(
        self, table: str, run: str, mark: Fingerprint | None, read: Callable[[str], T]
    ) -> list[T]:
        """What was read of each file that counts, all of one listing."""
        gone: FileNotFoundError | None = None
        for _ in range(_LISTINGS):
            try:
                return ask_each(self.store, read, self._names(table, run, mark))
            except FileNotFoundError as error:
                gone = error
        assert gone is not None
        raise describe_gone(self.store, gone, run) from gone


def group_rows(rows: Iterable[Record]) -> dict[str, list[Record]]:
    """By table; of equal rows one."""
    by_table: dict[str, dict[str, Record]] = {}
    for row in rows:
        by_table.setdefault(row.table, {})[row.id] = row
    return {table: list(found.values()) for table, found in by_table.items()}


def _may_hold(stem: str, mark: Fingerprint) -> bool:
    name = BatchName.parse(stem)
    if name is None:
        return MergedName.parse(stem) is not None
    return name.step == mark.step and mark.fp8 in ("", name.fp8)


def _keep_mark(table: pa.Table, mark: Fingerprint) -> pa.Table:
    from pyarrow.compute import field

    made = field("step") == mark.step
    return table.filter(
        made & (field("fingerprint") == mark.fingerprint) if mark.fingerprint else made
    )
