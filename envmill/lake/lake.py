"""The lake: the only truth about progress. Which files count, what they say, and how a batch is
added.

claim of the attempt ─► files of each table ─► attrition file, which commits the batch
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUnknownLambdaType=false
# (pyarrow ships no types)

import json
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeVar

import pyarrow as pa

from envmill.lake.arrow import Stamp, from_arrow, to_arrow
from envmill.lake.attempts import Attempts
from envmill.lake.files import BatchName, Fingerprint, MergedName, file_name, start_of
from envmill.lake.merges import MergeRecords
from envmill.lake.reading import describe_gone, encode, read_parts
from envmill.lake.snapshot import FileSnapshot, take_snapshot
from envmill.lake.stores import Store, pick_store
from envmill.lake.stores.base import StoredFile, ask_each, split
from schemas.base import Record
from schemas.ledger import Attrition, Exit, RunEvent
from schemas.tables import TABLES

__all__ = ["Fingerprint", "Lake"]

R = TypeVar("R", bound=Record)
_FOLLOWED = 3  # steps whose outcomes are known: a step asks for its own and for those of the steps that it takes subjects from
_ENDS: dict[
    tuple[int, Exit], tuple[int, Exit]
] = {}  # a run has few different ones, each of which many subjects share
_LOT = 16 * 1024 * 1024  # bytes of files that are fetched side by side


@dataclass
class _Exits:
    """Outcomes of one step, as far as the files were read that hold them."""

    names: set[str]
    last: dict[str, tuple[int, Exit]]


class Lake:
    """Tables of immutable Parquet files in one store."""

    def __init__(self, place: str | Path | Store) -> None:
        self.store: Store = pick_store(place) if isinstance(place, str | Path) else place
        self.merges = MergeRecords(self.store)
        self.attempts = Attempts(self.store, self.merges)
        self._enlisted: set[str] = set()
        self._exits: dict[tuple[str, Fingerprint], _Exits] = {}
        self._following = threading.Lock()

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
        """Paths or URLs of files that count. With a mark: those that may hold rows of it; merged files hold rows of many."""
        return [self.store.locate(entry.name) for entry in self._entries(table, run, mark)]

    def read(self, record: type[R], run: str, mark: Fingerprint | None = None) -> list[R]:
        """Rows in id order; of a row written twice the latest attempt counts."""
        latest: dict[str, dict[str, Any]] = {}
        for rows in self.scan(record, run, mark):
            for row in rows:
                if row["id"] not in latest or row["try_number"] > latest[row["id"]]["try_number"]:
                    latest[row["id"]] = row
        return from_arrow(record, (latest[key] for key in sorted(latest)))

    def scan(
        self,
        record: type[Record],
        run: str,
        mark: Fingerprint | None = None,
        only: Mapping[str, str] = MappingProxyType({}),
    ) -> Iterator[list[dict[str, Any]]]:
        """Rows as they were written, some at a time; with `only` those of some values.

        A run that is compacted meanwhile is listed again: its rows may then come twice.
        """
        for part in self._scan(record, run, mark, (), only):
            yield part.to_pylist()

    def scan_columns(
        self, record: type[Record], run: str, mark: Fingerprint, columns: Sequence[str]
    ) -> Iterator[tuple[Any, ...]]:
        """Some columns of each row that a step wrote, as `scan` finds them."""
        for part in self._scan(record, run, mark, columns, {}):
            yield from zip(*(part[column].to_pylist() for column in columns), strict=True)

    def _scan(
        self,
        record: type[Record],
        run: str,
        mark: Fingerprint | None,
        columns: Sequence[str],
        only: Mapping[str, str],
    ) -> Iterator[pa.Table]:
        wanted = (
            [*dict.fromkeys([*columns, *only, *(("step", "fingerprint") if mark else ())])]
            if columns
            else None
        )
        done, gone = set[str](), None
        while True:
            entries = [
                entry for entry in self._entries(record.table, run, mark) if entry.name not in done
            ]
            self._check_replaced(run, gone, entries)
            try:
                for name, parts in self._read_each(entries, record, wanted):
                    yield from (_select_rows(part, mark, only) for part in parts)
                    done.add(name)
            except FileNotFoundError as error:
                gone = error
            else:
                return

    def outcomes(self, run: str, mark: Fingerprint) -> dict[str, Exit]:
        """Subject → outcome of its latest attempt at this step."""
        last = self._follow(run, mark).copy()  # other threads add to it
        return {subject: outcome for subject, (_, outcome) in last.items()}

    def is_settled(
        self, run: str, mark: Fingerprint, bucket: int | None = None
    ) -> Callable[[str], bool]:
        """Whether a step has settled a subject, as the lake is now: an error is no outcome. With a bucket: a subject of that one."""
        last = self._follow(run, mark, bucket)
        return lambda subject: subject in last and last[subject][1] != "error"

    def _follow(
        self, run: str, mark: Fingerprint, bucket: int | None = None
    ) -> dict[str, tuple[int, Exit]]:
        """Subject → its latest attempt at a step and what that came to. A step asks once per bucket, and files never change: only new ones
        are read, and only files of the bucket are listed, where one is named. Of the steps of a run the last few are known. Threads that
        ask at once add to the same."""
        start = "" if bucket is None else start_of(mark.step, bucket)
        gone: FileNotFoundError | None = None
        while True:
            seen = self._list_seen(run, mark) if bucket is None else set[str]()
            entries = self._entries("attrition", run, mark, start)
            self._check_replaced(run, gone, entries)
            merged = bool(seen - {entry.name for entry in entries})
            known = self._recall(run, mark, merged)
            try:
                self._read_exits(
                    [entry for entry in entries if entry.name not in known.names], mark, known
                )
            except FileNotFoundError as error:
                gone = error
            else:
                return known.last

    def _check_replaced(
        self, run: str, gone: FileNotFoundError | None, entries: Sequence[StoredFile]
    ) -> None:
        """A file that went between listing and reading was replaced, and the next listing names its
        successor; one that the next listing still names is missing."""
        if gone and gone.filename in {self.store.locate(entry.name) for entry in entries}:
            raise describe_gone(self.store, gone, run) from gone

    def _list_seen(self, run: str, mark: Fingerprint) -> set[str]:
        """Files that a step is known from, before they are listed: other threads read newer ones meanwhile."""
        with self._following:
            known = self._exits.get((run, mark))
            return known.names.copy() if known else set[str]()

    def _recall(self, run: str, mark: Fingerprint, merged: bool) -> "_Exits":
        """What is known of a step; nothing once files that it is known from were merged."""
        with self._following:
            known = self._exits.pop((run, mark), None)
            if known is None or merged:
                known = _Exits(set(), {})
            self._exits[run, mark] = known
            while len(self._exits) > _FOLLOWED:
                del self._exits[next(iter(self._exits))]
            return known

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
        """Add the batch of a claimed attempt; its attrition file goes last and commits it. False when somebody ended the attempt."""
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

    def _entries(
        self, table: str, run: str, mark: Fingerprint | None, start: str = ""
    ) -> list[StoredFile]:
        entries = take_snapshot(self.store, self.merges, run, [table], start).files[table]
        return [entry for entry in entries if mark is None or _may_hold(entry.stem, mark)]

    def _read_exits(
        self, entries: Sequence[StoredFile], mark: Fingerprint, known: "_Exits"
    ) -> None:
        columns = ["gate", "step", "fingerprint", "subject", "outcome", "try_number"]
        for name, parts in self._read_each(entries, Attrition, columns):
            for exits in (_select_rows(part, mark, {"gate": "exit"}) for part in parts):
                rows = zip(*(exits[column].to_pylist() for column in columns[3:]), strict=True)
                with self._following:
                    for subject, outcome, number in rows:
                        if number > known.last.get(subject, (0, ""))[0]:
                            end = _ENDS.setdefault((number, outcome), (number, outcome))
                            known.last[subject] = end
            with self._following:
                known.names.add(name)

    def _read_each(
        self, entries: Sequence[StoredFile], record: type[Record], columns: list[str] | None
    ) -> Iterator[tuple[str, Iterable[pa.Table]]]:
        """Files, each with its parts. Over a network small ones are fetched side by side."""
        for lot in split(entries, _LOT, self.store.at_once):
            if len(lot) == 1:
                yield lot[0].name, read_parts(self.store, lot[0].name, record, columns)
                continue
            names = [entry.name for entry in lot]
            yield from zip(
                names,
                ask_each(
                    self.store, lambda name: [*read_parts(self.store, name, record, columns)], names
                ),
                strict=True,
            )


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


def _select_rows(table: pa.Table, mark: Fingerprint | None, only: Mapping[str, str]) -> pa.Table:
    """Rows of a mark that have some values."""
    wanted = dict(only)
    if mark is not None:
        wanted |= {"step": mark.step} | (
            {"fingerprint": mark.fingerprint} if mark.fingerprint else {}
        )
    if not wanted:
        return table
    from pyarrow.compute import field  # 60 ms that a question in SQL need not wait for

    for column, value in wanted.items():
        table = table.filter(field(column) == value)
    return table
