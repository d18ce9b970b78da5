"""The factory's backend: apsw, whose sessions follow changes inside SQLite at next to no cost."""

import base64
import importlib
from collections.abc import Mapping
from typing import Any, TypeAlias

from envmill.runtime.db import clock
from envmill.runtime.db.base import (
    LONGEST_VALUE,
    SETUP,
    WRONG_BINDINGS,
    Parameters,
    StatementResult,
    translate,
)
from envmill.runtime.db.changes import RowChange, in_order
from envmill.runtime.db.faults import DbError
from envmill.runtime.db.guard import TICK, DatabaseGuard
from envmill.runtime.db.tables import StoredTable

_VFS = "envmill"
_JULIAN_DAY = 86_400_000
_DATABASE = "main"
_MOST_DESCRIBED = 512  # tools that write values into their SQL make a new statement each time

Description: TypeAlias = tuple[tuple[str, ...], bool]
"""What a statement is, for as long as the schema is: its columns, and whether it only reads."""
_NOTHING: Description = ((), True)

_adopted: list[Any] = []


def adopt_sessions(name: str) -> None:
    """Use a package that has SQLite's sessions: apsw. This folder depends on none, so its user
    names it."""
    _adopted[:] = [_equip(importlib.import_module(name))]


def is_adopted() -> bool:
    return bool(_adopted)


def _equip(apsw: Any) -> Any:
    """The package, with a VFS whose clock is virtual. Nothing is ever opened through it but
    memory."""

    def read_milliseconds(self: Any) -> int:  # noqa: ARG001
        return clock.julian_milliseconds()

    def read_days(self: Any) -> float:  # noqa: ARG001
        return clock.julian_milliseconds() / _JULIAN_DAY

    kind = type(
        "VirtualClock",
        (apsw.VFS,),
        {"xCurrentTimeInt64": read_milliseconds, "xCurrentTime": read_days},
    )
    vars(apsw)["envmill_vfs"] = kind(_VFS, "")  # a VFS lives as long as its object
    return apsw


class ApswConnection:
    """A connection of apsw."""

    def __init__(self, guard: DatabaseGuard) -> None:
        self._guard, self._apsw = guard, _adopted[0]
        self._faults = (self._apsw.Error, OverflowError, ValueError, TypeError, KeyError)
        self._description: Description = _NOTHING
        self._described: dict[str, Description] = {}
        self._statements = 0
        self._single = False
        self._tables: Mapping[str, StoredTable] = {}
        self._session: Any = None
        self._earlier = b""
        self._connection = self._apsw.Connection(":memory:", vfs=_VFS)
        self._connection.limit(self._apsw.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        self._connection.authorizer = guard.allow
        self._connection.set_progress_handler(guard.tick, TICK)
        self._connection.create_scalar_function("random", clock.sample_integer, 0)
        self._connection.create_scalar_function("randomblob", clock.sample_blob, 1)
        self._cursor = self._connection.cursor()
        with guard.trust():
            self.script(";".join(SETUP))

    def run(self, sql: str, parameters: Parameters = ()) -> StatementResult:
        known = self._described.get(sql)
        if known is None:
            return (
                self._run_cautiously(sql, parameters)
                if ";" in sql.rstrip().rstrip(";")
                else self._run(sql, parameters)
            )
        columns, reads = known
        before = 0 if reads else self._connection.total_changes()
        try:
            rows = self._cursor.execute(sql, parameters).fetchall()
        except BaseException as error:
            # A deadline may strike while rows are still to come: with the cursor goes what it
            # began.
            self._cursor.close(True)
            self._cursor = self._connection.cursor()
            if isinstance(error, self._faults):
                raise self._translate(error) from None
            raise
        return StatementResult(columns, rows, 0 if reads else self._count_since(before))

    def script(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except (self._apsw.Error, ValueError) as error:
            raise self._translate(error) from None

    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def written(self) -> int:
        return self._connection.total_changes()

    def watch(self, tables: Mapping[str, StoredTable], seen: str = "") -> None:
        self._tables, self._earlier = tables, base64.b64decode(seen) if seen else b""
        if self._session is not None:
            self._session.close()
        self._session = self._apsw.Session(self._connection, _DATABASE)
        self._session.attach()

    def seen(self) -> str:
        return base64.b64encode(self._changeset()).decode()

    def changes(self) -> list[RowChange]:
        return in_order(
            self._read(change) for change in self._apsw.Changeset.iter(self._changeset())
        )

    def serialize(self) -> bytes:
        return self._connection.serialize(_DATABASE)

    def deserialize(self, content: bytes) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
        copy = self._apsw.Connection(":memory:")
        copy.deserialize(_DATABASE, content)
        with self._connection.backup(_DATABASE, copy, _DATABASE) as backup:
            backup.step()
        copy.close()

    def close(self) -> None:
        if self._session is not None:
            self._session.close()
        self._connection.close()

    def _run_cautiously(self, sql: str, parameters: Parameters) -> StatementResult:
        """apsw runs one statement after the other; the second shows only when the first has run,
        which is then undone."""
        with self._guard.trust():
            self._connection.execute("savepoint envmill_single")
        try:
            self._single = True
            ran = self._run(sql, parameters)
        except BaseException:
            self._end_single("rollback to envmill_single; release envmill_single")
            raise
        self._end_single("release envmill_single")
        return ran

    def _end_single(self, sql: str) -> None:
        self._single = False
        with self._guard.trust():
            self._connection.execute(sql)

    def _run(self, sql: str, parameters: Parameters) -> StatementResult:
        """A statement that is not known yet, in a cursor of its own that is asked what it is."""
        before, self._description, self._statements = self._connection.total_changes(), _NOTHING, 0
        cursor = self._connection.cursor()
        cursor.exec_trace = self._describe
        try:
            rows = cursor.execute(sql, parameters).fetchall()
        except self._faults as error:
            raise self._translate(error) from None
        return StatementResult(self._description[0], rows, self._count_since(before))

    def _count_since(self, before: int) -> int:
        """Rows the last statement changed, where the connection had written so many before it."""
        return self._connection.changes() if self._connection.total_changes() != before else 0

    def _describe(self, cursor: Any, sql: str, parameters: Any) -> bool:  # noqa: ARG002
        """Told each statement before it runs, by its own text: what is noted under a text is a
        single statement."""
        if len(self._described) >= _MOST_DESCRIBED:
            self._described.clear()
        self._description = (
            tuple(column[0] for column in cursor.get_description()),
            cursor.is_readonly,
        )
        self._described[sql] = self._description
        self._statements += 1
        return not (self._single and self._statements > 1)

    def _changeset(self) -> bytes:
        now = self._session.changeset() if self._session is not None else b""
        if not self._earlier:
            return now
        builder = self._apsw.ChangesetBuilder()
        builder.schema(self._connection, _DATABASE)
        for part in (self._earlier, now):
            builder.add(part)
        return builder.output()

    def _read(self, change: Any) -> RowChange:
        table = self._tables[change.name]
        old, new = (self._name(table, row) for row in (change.old, change.new))
        key = {column: (old if change.op != "INSERT" else new)[column] for column in table.key}
        if change.op == "INSERT":
            return RowChange(table.name, "insert", key, {}, new)
        if change.op == "DELETE":
            return RowChange(table.name, "delete", key, old, {})
        return RowChange(
            table.name,
            "update",
            key,
            {name: old[name] for name in table.columns if name in new},
            new,
        )

    def _name(self, table: StoredTable, row: tuple[Any, ...] | None) -> dict[str, Any]:
        untouched = self._apsw.no_change
        return {
            name: value
            for name, value in zip(table.columns, row or (), strict=False)
            if value is not untouched
        }

    def _translate(self, error: BaseException) -> DbError:
        if isinstance(error, self._apsw.ExecTraceAbort):
            return DbError("only one statement at a time")
        if isinstance(error, self._apsw.BindingsError | KeyError):
            return DbError(WRONG_BINDINGS)
        return translate(
            self._guard,
            error,
            isinstance(error, self._apsw.ConstraintError | self._apsw.MismatchError),
        )
