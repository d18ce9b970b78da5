"""The standard library's backend: temporary triggers remember each row as it was when it was first
touched.

    before update, delete ─► key, row        after insert, update of a key ─► key, nothing

What was remembered first counts: held against the rows of now it is the change set, whatever
happened between. A note of a statement that was undone differs in nothing.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from typing import Any

from envmill.runtime.db import clock
from envmill.runtime.db.base import (
    LONGEST_VALUE,
    SETUP,
    WRONG_BINDINGS,
    Parameters,
    StatementResult,
    translate,
)
from envmill.runtime.db.changes import RowChange, compare, in_order, read_value, render_value
from envmill.runtime.db.faults import DbError
from envmill.runtime.db.guard import MINE, TICK, TOUCH, DatabaseGuard
from envmill.runtime.db.tables import StoredTable, quote, render_trigger

_STATEMENTS = 256  # kept prepared: the tools of one environment have fewer

Key = tuple[Any, ...]


class Triggers:
    """A connection of `sqlite3`."""

    def __init__(self, guard: DatabaseGuard) -> None:
        self._guard = guard
        self._tables: dict[str, StoredTable] = {}
        self._armed = False
        self._touched: dict[tuple[str, Key], tuple[Any, ...] | None] = {}
        self._connection = sqlite3.connect(
            ":memory:", isolation_level=None, cached_statements=_STATEMENTS, check_same_thread=False
        )
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LONGEST_VALUE)
        self._connection.set_authorizer(guard.allow)
        self._connection.set_progress_handler(guard.tick, TICK)
        self._connection.create_function("random", 0, clock.sample_integer)
        self._connection.create_function("randomblob", 1, clock.sample_blob)
        self._connection.create_function(TOUCH, -1, self._touch)
        clock.install_clock(self._connection)
        with guard.trust():
            self.script(";".join(SETUP))

    def run(self, sql: str, parameters: Parameters = ()) -> StatementResult:
        before = self._connection.total_changes
        try:
            cursor = self._connection.execute(sql, parameters)
            rows = cursor.fetchall()
        except (sqlite3.Error, sqlite3.Warning, OverflowError, ValueError, TypeError) as error:
            raise self._translate(error) from None
        columns = tuple(column[0] for column in cursor.description or ())
        return StatementResult(
            columns, rows, self._changed() if self._connection.total_changes != before else 0
        )

    def script(self, sql: str) -> None:
        try:
            self._connection.executescript(sql)
        except (sqlite3.Error, ValueError) as error:
            raise self._translate(error) from None

    def in_transaction(self) -> bool:
        return self._connection.in_transaction

    def written(self) -> int:
        return self._connection.total_changes

    def watch(self, tables: Mapping[str, StoredTable], seen: str = "") -> None:
        if not self._armed:
            self._tables, self._armed = dict(tables), True
            self.script("".join(map(_render_triggers, tables.values())))
        self._touched = {
            (table, tuple(map(read_value, key))): None
            if row is None
            else tuple(map(read_value, row))
            for table, key, row in (json.loads(seen) if seen else ())
        }

    def seen(self) -> str:
        notes = [
            [table, [*map(render_value, key)], None if row is None else [*map(render_value, row)]]
            for (table, key), row in self._touched.items()
        ]
        return json.dumps(notes, ensure_ascii=False)

    def changes(self) -> list[RowChange]:
        return in_order(
            change
            for (name, key), row in self._touched.items()
            if (change := self._change(self._tables[name], key, row))
        )

    def serialize(self) -> bytes:
        return self._connection.serialize()

    def deserialize(self, content: bytes) -> None:
        with closing(sqlite3.connect(":memory:")) as copy:
            copy.deserialize(content)
            copy.backup(self._connection)
        self._armed = False

    def close(self) -> None:
        self._connection.close()

    def _change(
        self, table: StoredTable, key: Key, before: tuple[Any, ...] | None
    ) -> RowChange | None:
        columns = ", ".join(map(quote, table.columns))
        where = " and ".join(f"{quote(column)} = ?" for column in table.key)
        found = self._connection.execute(
            f"select {columns} from main.{quote(table.name)} where {where} {MINE}", key
        ).fetchone()
        named = [
            None if row is None else dict(zip(table.columns, row, strict=True))
            for row in (before, found)
        ]
        return compare(table.name, dict(zip(table.key, key, strict=True)), *named)

    def _touch(self, name: str, existed: int, *values: Any) -> None:
        key, row = values[: len(self._tables[name].key)], values[len(self._tables[name].key) :]
        self._touched.setdefault((name, key), row if existed else None)

    def _changed(self) -> int:
        return self._connection.execute(f"select changes() {MINE}").fetchone()[0]

    def _translate(self, error: BaseException) -> DbError:
        if "one statement at a time" in str(error):
            return DbError("only one statement at a time")
        if "bindings" in str(error):
            return DbError(WRONG_BINDINGS)
        if "decode to UTF-8" in str(error):
            return DbError("text that is not UTF-8")
        return translate(self._guard, error, isinstance(error, sqlite3.IntegrityError))


def _render_triggers(table: StoredTable) -> str:
    literal = "'" + table.name.replace("'", "''") + "'"
    old_key, new_key = (
        ", ".join(f"{row}.{quote(column)}" for column in table.key) for row in ("OLD", "NEW")
    )
    old_row = ", ".join(f"OLD.{quote(column)}" for column in table.columns)
    moved = " or ".join(f"OLD.{quote(column)} is not NEW.{quote(column)}" for column in table.key)

    def trigger(when: str, condition: str, arguments: str) -> str:
        return render_trigger(
            f"{TOUCH} {when} {table.name}",
            when,
            table,
            condition,
            f"{TOUCH}({literal}, {arguments})",
        )

    return (
        trigger("before update", "", f"1, {old_key}, {old_row}")
        + trigger("before delete", "", f"1, {old_key}, {old_row}")
        + trigger("after insert", "", f"0, {new_key}")
        + trigger("after update", f"when {moved}", f"0, {new_key}")
    )
