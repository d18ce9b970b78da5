"""Tables of an opened schema: their columns, their keys, and what of SQLite's freedom is refused
because rows could not be told apart."""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from envmill.runtime.db.faults import DbError, SchemaFault
from envmill.runtime.db.guard import OURS

Value = None | int | float | str | bytes
Rows = list[tuple[Any, ...]]

_DEFERRED = re.compile(r"(?<!not )\bdeferrable\s+initially\s+deferred", re.IGNORECASE)


@dataclass(frozen=True)
class StoredTable:
    """One table."""

    name: str
    columns: tuple[str, ...]
    """Stored columns; generated ones follow from them and are left out."""
    key: tuple[str, ...]
    counted: bool
    """Its key is the row's number, which SQLite fills in by itself."""

    def places(self) -> tuple[int, ...]:
        """Where the key's columns stand among the columns."""
        return tuple(self.columns.index(column) for column in self.key)


def read_tables(ask: Callable[[str], Rows]) -> dict[str, StoredTable]:
    """Tables by name, or SchemaFault with the mend."""
    tables: dict[str, StoredTable] = {}
    for kind, name, sql in ask(
        "select type, name, coalesce(sql, '') from sqlite_schema order by name"
    ):
        if name.lower().startswith(OURS):
            raise SchemaFault(
                f"The {kind} {name} has a name that the database keeps for its own: name it "
                f"without {OURS}."
            )
        if kind == "view":
            _check_view(name, ask)
        if kind == "table" and not name.startswith("sqlite_"):
            _check_declaration(name, sql)
            tables[name] = _read_table(name, ask)
    if not tables:
        raise SchemaFault("The schema makes no table.")
    _check_key_collation(tables.values(), ask)
    return tables


def quote(name: str) -> str:
    """An identifier."""
    return '"' + name.replace('"', '""') + '"'


def render_trigger(name: str, when: str, table: StoredTable, condition: str, action: str) -> str:
    """A trigger of ours."""
    return (
        f"create temp trigger {quote(name)} {when} on main.{quote(table.name)} {condition} begin "
        f"select {action}; end;\n"
    )


def _check_declaration(name: str, sql: str) -> None:
    if _DEFERRED.search(sql):
        raise SchemaFault(
            f"{name} defers a foreign key to the end of a transaction, and calls have none: leave "
            "INITIALLY DEFERRED out."
        )


def _check_view(name: str, ask: Callable[[str], Rows]) -> None:
    """SQLite looks at what a view reads only when somebody asks it: every call that does would
    fail."""
    try:
        ask(f"explain select 1 from {quote(name)}")
    except DbError as error:
        raise SchemaFault(
            f"The view {name} cannot be read ({error}): make what it reads, or leave it out."
        ) from None


def _read_table(name: str, ask: Callable[[str], Rows]) -> StoredTable:
    columns = [
        row
        for row in ask(
            f"select name, type, pk, hidden from pragma_table_xinfo({_literal(name)}) order by cid"
        )
        if row[3] == 0
    ]
    key = tuple(column for column, _, place, _ in sorted(columns, key=lambda row: row[2]) if place)
    if not key:
        raise SchemaFault(
            f"{name} has no primary key, so its rows cannot be told apart: declare one."
        )
    kinds = {column: kind.upper() for column, kind, _, _ in columns}
    without_rowid = ask(
        f"select wr from pragma_table_list where schema = 'main' and name = {_literal(name)}"
    )[0][0]
    counted = len(key) == 1 and kinds[key[0]] == "INTEGER" and not without_rowid
    untyped = [column for column in key if kinds[column] in ("", "BLOB", "ANY")]
    if untyped:
        raise SchemaFault(
            f"{name}.{untyped[0]} is a key without a type, so that 1 and 1.0 are one row: declare "
            "it INTEGER or TEXT."
        )
    return StoredTable(name, tuple(column for column, *_ in columns), key, counted)


def _check_key_collation(tables: Iterable[StoredTable], ask: Callable[[str], Rows]) -> None:
    for table in tables:
        if table.counted:
            continue
        index = ask(
            f"select name from pragma_index_list({_literal(table.name)}) where origin = 'pk'"
        )
        for column, collation in (
            ask(f"select name, coll from pragma_index_xinfo({_literal(index[0][0])}) where key = 1")
            if index
            else ()
        ):
            if collation != "BINARY":
                raise SchemaFault(
                    f"{table.name}.{column} is a key with the collation {collation}, so that two "
                    "spellings are one row: leave COLLATE out."
                )


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
