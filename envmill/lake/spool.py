"""A spool: what a step reads again and again, on this machine's disk and not in memory, gone with the process.

files of the lake ─► one after the other ─► a database without a name ─► records by id, by owner, or one after the other in id order
"""

import marshal
import sqlite3
import zlib
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, TypeVar, overload

from envmill.base.errors import LakeError
from envmill.lake.arrow import from_arrow
from schemas.base import Record
from schemas.stored import StoredRows

R = TypeVar("R", bound=Record)
V = TypeVar("V")


_CACHE_KB = 16_384  # of the database, in memory
_BATCH = 64  # records that are read from the database at once
_RECENT = 64  # records that are kept as they were read: scenarios come with their environment


class RowSpool:
    """One process's own database. SQLite writes it below TMPDIR, without a name, once it outgrows its cache."""

    def __init__(self) -> None:
        self._base = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for pragma in (
            f"cache_size = -{_CACHE_KB}",
            "journal_mode = off",
            "synchronous = off",
            "temp_store = file",
        ):
            self._base.execute(f"pragma {pragma}")
        self._tables = 0
        self._checked: defaultdict[str, set[str]] = defaultdict(set)

    def __del__(self) -> None:
        self._base.close()

    def hold(
        self, record: type[R], parts: Iterable[Sequence[Mapping[str, Any]]], owner: str = ""
    ) -> "StoredRecords[R]":
        """All rows of some files as records, of a row that was written twice the latest attempt. `owner` is a column to find them by."""
        table = self._make_table("id text primary key, owner text, attempt int, body blob")
        insert = f"insert into {table} values (?, ?, ?, ?) on conflict do update set "
        insert += "owner = excluded.owner, attempt = excluded.attempt, body = excluded.body where excluded.attempt > attempt"
        for rows in parts:
            self.write(
                insert,
                [
                    (row["id"], row[owner] if owner else None, row["try_number"], pack(row))
                    for row in rows
                ],
            )
        if owner:
            self._base.execute(f"create index {table}_owner on {table} (owner, id)")
        return StoredRecords(
            self,
            table,
            record,
            [name for (name,) in self.ask(f"select id from {table} order by id")],
        )

    def parse(self, record: type[R], table: str, rows: Sequence[tuple[str, bytes]]) -> Iterator[R]:
        """Records of rows (id, body) of a table. The id of each is checked when it is read for the first time."""
        checked = self._checked[table]
        for name, body in rows:
            (found,) = from_arrow(record, [unpack(body)], name in checked)
            checked.add(name)
            yield found

    def shelve(self, render: Callable[[V], Any], parse: Callable[[Any], V]) -> "Shelf[V]":
        """A mapping of names to plain values."""
        return Shelf(self, self._make_table("id text primary key, body blob"), render, parse)

    def ask(self, question: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        """Rows of a question."""
        return self._base.execute(question, values).fetchall()

    def write(self, statement: str, rows: Sequence[tuple[Any, ...]]) -> None:
        """One statement for each row, in one transaction."""
        try:
            self._base.execute("begin")
            self._base.executemany(statement, rows)
            self._base.execute("commit")
        except sqlite3.Error as error:
            raise LakeError(
                f"No row can be written to disk ({error}). Free space below TMPDIR and run again: nothing is lost."
            ) from error

    def _make_table(self, columns: str) -> str:
        self._tables += 1
        self._base.execute(f"create table t{self._tables} ({columns})")
        return f"t{self._tables}"


class StoredRecords(StoredRows[R]):
    """Records in id order, each read when it is asked for."""

    def __init__(
        self,
        spool: RowSpool,
        table: str,
        record: type[R],
        ids: Sequence[str],
        change: Callable[[R], R] = lambda record: record,
    ) -> None:
        self._spool, self._table, self._record, self.ids = spool, table, record, ids
        self._known, self._change = frozenset(ids), change
        self._recent: OrderedDict[str, R] = OrderedDict()

    def __iter__(self) -> Iterator[R]:
        for start in range(0, len(self.ids), _BATCH):
            yield from self._read(self.ids[start : start + _BATCH])

    @overload
    def __getitem__(self, place: int) -> R: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[R]: ...
    def __getitem__(self, place: int | slice) -> R | Sequence[R]:
        return self.get(self.ids[place]) if isinstance(place, int) else self._read(self.ids[place])

    def get(self, name: str) -> R:
        """The record of an id; KeyError where there is none."""
        if (found := self._recent.get(name)) is None:
            if name not in self._known:
                raise KeyError(name)
            (found,) = self._read([name])
            self._recent[name] = found
            if len(self._recent) > _RECENT:
                self._recent.popitem(last=False)
        return found

    def find(self, name: str) -> R | None:
        """The record of an id, if there is one."""
        return self.get(name) if name in self._known else None

    def of(self, owner: str) -> tuple[R, ...]:
        """Records of an owner, in id order."""
        rows = self._spool.ask(
            f"select id, body from {self._table} where owner = ? order by id", [owner]
        )
        return tuple(self._parse([(name, body) for name, body in rows if name in self._known]))

    def owners(self) -> dict[str, str]:
        """Id → owner."""
        return {
            name: owner
            for name, owner in self._spool.ask(f"select id, owner from {self._table}")
            if name in self._known
        }

    def keep(self, names: Collection[str]) -> "StoredRecords[R]":
        """Only those of some ids."""
        return self._show([name for name in self.ids if name in names])

    def _show(self, ids: Sequence[str]) -> "StoredRecords[R]":
        return StoredRecords(self._spool, self._table, self._record, ids, self._change)

    def where(self, wanted: Callable[[R], bool]) -> "StoredRecords[R]":
        """Only those that something holds of."""
        return self._show([one.id for one in self if wanted(one)])

    def change(self, change: Callable[[R], R]) -> "StoredRecords[R]":
        """The same, each changed when it is read."""
        return StoredRecords(self._spool, self._table, self._record, self.ids, change)

    def _read(self, names: Sequence[str]) -> list[R]:
        marks = ", ".join("?" * len(names))
        rows: list[Any] = self._spool.ask(
            f"select id, body from {self._table} where id in ({marks}) order by id", names
        )
        return self._parse(rows)

    def _parse(self, rows: Sequence[tuple[str, bytes]]) -> list[R]:
        return [self._change(one) for one in self._spool.parse(self._record, self._table, rows)]


class Shelf(Generic[V]):
    """Values by name, on disk."""

    def __init__(
        self, spool: RowSpool, table: str, render: Callable[[V], Any], parse: Callable[[Any], V]
    ) -> None:
        self._spool, self._table, self._render, self._parse = spool, table, render, parse

    def put_all(self, pairs: Iterable[tuple[str, V]]) -> None:
        """Add values, or replace those of the same names."""
        batch: list[tuple[Any, ...]] = []
        for name, value in pairs:
            batch.append((name, pack(self._render(value))))
            if len(batch) >= _BATCH:
                self._put(batch)
                batch = []
        self._put(batch)

    def put(self, name: str, value: V) -> None:
        """Add a value, or replace that of the same name."""
        self._put([(name, pack(self._render(value)))])

    def get(self, name: str) -> V | None:
        """None where there is none."""
        rows = self._spool.ask(f"select body from {self._table} where id = ?", [name])
        return self._parse(unpack(rows[0][0])) if rows else None

    def _put(self, batch: Sequence[tuple[Any, ...]]) -> None:
        self._spool.write(f"insert or replace into {self._table} values (?, ?)", batch)


def pack(value: Any) -> bytes:
    """Plain values as bytes: states say the same names again and again, and shrink to a fifth."""
    return zlib.compress(marshal.dumps(value), 1)


def unpack(content: bytes) -> Any:
    return marshal.loads(zlib.decompress(content))
