"""A database as a session holds it: opened once, set back as often as wanted, read from outside.

    Database(schema) ─► load(rows) ─► reset ─► [ Db: execute, query ] ─► changes · state · snapshot
                                        ▲                                        │
                                        └────────────────────────────────────────┘
One transaction stays open from a reset to the next and is never committed: a reset rolls it back,
whatever its size. A call is a savepoint in it.
"""

import base64
from collections.abc import Mapping
from typing import cast

from envmill.runtime.canonical import Json, fingerprint, plain, render
from envmill.runtime.db.base import MakeBackend, Parameters, StatementResult
from envmill.runtime.db.changes import RowChange, rank, read_value, render_key, render_row
from envmill.runtime.db.faults import DbError, SchemaFault
from envmill.runtime.db.guard import BUDGET, MINE, DatabaseGuard, render_parameters
from envmill.runtime.db.sessions import ApswConnection, is_adopted
from envmill.runtime.db.tables import Rows, StoredTable, quote, read_tables, render_trigger
from envmill.runtime.db.triggers import Triggers

_BEGIN, _ROLLBACK = f"begin {MINE}", f"rollback {MINE}"
_SAVEPOINT, _RELEASE, _UNDO = (
    f"{words} envmill_call {MINE}" for words in ("savepoint", "release", "rollback to")
)
_KEY_GUARD = "envmill_key"
_COUNTER = "temp.envmill_counter"
"""A table of ours: writing to it sets what last_insert_rowid() and changes() answer."""
_SHAPE = tuple(
    f"{question} {MINE}"
    for question in (
        # Each session leaves a row in this table, which its rollback removes: a row that is still
        # there was committed, with all others.
        f"select count(*) from {_COUNTER}",
        "pragma database_list", "pragma main.schema_version", "pragma temp.schema_version",
        "pragma foreign_keys", "pragma recursive_triggers",
    )
)  # fmt: skip
"""What a connection is asked before it serves another session. No statement of a tool can change
the answers."""


def pick_backend() -> MakeBackend:
    """Sessions where a package that has them was handed over."""
    return ApswConnection if is_adopted() else Triggers


class Database:
    """One database of one session. Raises SchemaFault when schema or rows cannot be opened."""

    def __init__(
        self, schema: str, backend: MakeBackend | None = None, budget: int = BUDGET
    ) -> None:
        self._guard = DatabaseGuard(budget)
        self._schema, self._make_backend = schema, backend or pick_backend()
        self.in_call = False
        """Whether the running call has written, so that its savepoint is open."""
        self._memo: tuple[int, str] = (-1, "")
        self._base = b""
        self._shape: list[Rows] = []
        self._connect()

    def _connect(self) -> None:
        self._backend = self._make_backend(self._guard)
        try:
            with self._guard.open():
                self._backend.script(self._schema)
            with self._guard.trust():
                self.tables = read_tables(self._ask)
                self._guard_keys()
                self._backend.script(
                    f"create temp table {_COUNTER.removeprefix('temp.')} (id integer primary key)"
                )
        except DbError as error:
            raise SchemaFault(f"schema.sql cannot be opened: {error}") from None

    def load(self, rows: Mapping[str, Json]) -> None:
        """Start from these rows: table → rows, as a list or by key."""
        with self._guard.trust():
            self._leave_transaction()
            self._clear()
            try:
                for name, given in rows.items():
                    self._fill(name, given)
            except (DbError, ValueError) as error:
                raise SchemaFault(f"The rows cannot be loaded: {error}") from None
            finally:
                self._backend.run(f"pragma foreign_keys = on {MINE}")
            if broken := self._backend.run(f"pragma foreign_key_check {MINE}").rows:
                raise SchemaFault(
                    f"Row {broken[0][1]} of {broken[0][0]} refers to a row of {broken[0][2]} that "
                    "is not there."
                )
            self._base = self._backend.serialize()
            self._begin()

    def reset(self) -> None:
        """Back to the loaded rows: rolled back, or put back whole after a restore and where the
        connection was not left as it was."""
        with self._guard.trust():
            if not (self._leave_transaction() and self._at_base):
                self._replace(self._base)
            self._begin()

    def run(self, sql: str, parameters: object = ()) -> StatementResult:
        """One statement of a tool, under guard, inside the savepoint of its call."""
        try:
            rendered: Parameters = render_parameters(parameters)  # pyright: ignore[reportAssignmentType]
        except ValueError as error:
            raise DbError(str(error)) from None
        if not self.in_call and sql.lstrip()[:6].lower() != "select":
            self._savepoint()
        self._guard.start(sql)
        return self._backend.run(sql, rendered)

    def commit(self) -> None:
        """What the call wrote stays, until the next reset."""
        if self.in_call:
            self._end_call(_RELEASE)

    def rollback(self) -> None:
        """What the call wrote since its start, or its last commit, is undone."""
        if self.in_call:
            self._end_call(_UNDO, _RELEASE)

    def changes(self) -> list[RowChange]:
        """What differs from the loaded rows."""
        with self._guard.trust():
            return self._backend.changes()

    def drain_touched(self) -> dict[str, list[str]]:
        """Tables that tools' statements read and wrote since this was last asked, triggers and
        cascades included."""
        touched = self._guard.drain_touched()
        return {
            name: sorted(
                {table for table, wrote in touched if wrote is writes and table in self.tables}
            )
            for name, writes in (("reads", False), ("writes", True))
        }

    def state(self) -> dict[str, dict[str, dict[str, Json]]]:
        """Table → key → row."""
        with self._guard.trust():
            return {table.name: self._read(table) for table in self.tables.values()}

    def state_hash(self) -> str:
        """Hash of the state; rows are read again only when some were written since."""
        written = self._backend.written()
        if written != self._memo[0]:
            self._memo = (written, fingerprint(render(plain(self.state()))))
        return self._memo[1]

    def snapshot(self) -> dict[str, Json]:
        """Everything, as JSON, to come back to in this database or another of the same schema."""
        with self._guard.trust():
            pack = {"content": self._backend.serialize(), "base": self._base}
            counts: list[Json] = list(self._ask(f"select last_insert_rowid(), changes() {MINE}")[0])
            return {"seen": self._backend.seen(), "counts": counts} | {
                name: base64.b64encode(content).decode() for name, content in pack.items()
            }

    def restore(self, snapshot: Mapping[str, Json]) -> None:
        """Come back; what a later reset goes back to comes along."""
        with self._guard.trust():
            self._leave_transaction()
            self._replace(base64.b64decode(snapshot["content"]))
            self._base = base64.b64decode(snapshot["base"])
            self._begin(
                str(snapshot["seen"]),
                at_base=False,
                counts=cast("tuple[int, int]", tuple(snapshot["counts"])),
            )

    def close(self) -> None:
        self._backend.close()

    def _ask(self, sql: str) -> Rows:
        return self._backend.run(sql).rows

    def _begin(
        self, seen: str = "", *, at_base: bool = True, counts: tuple[int, int] = (0, 0)
    ) -> None:
        self.in_call, self._at_base, self._memo = False, at_base, (-1, "")
        self._guard.forget_touched()
        self._backend.watch(self.tables, seen)  # first: sqlite3 commits before it runs a script
        self._shape = self._read_shape()
        self._backend.run(_BEGIN)
        self._set_counts(*counts)

    def _read_shape(self) -> list[Rows]:
        return [self._ask(pragma) for pragma in _SHAPE]

    def _set_counts(self, inserted: int, changed: int) -> None:
        """Make last_insert_rowid() and changes() answer these: a rollback leaves both as the last
        session had them."""
        if changed:
            numbers = (
                "with recursive n(id) as (select 1 union all select id + 1 from n where id < ?) "
                "select id from n"
            )
            self._backend.run(f"insert or ignore into {_COUNTER} {numbers} {MINE}", (changed,))
        self._backend.run(f"insert or replace into {_COUNTER} values (?) {MINE}", (inserted,))
        if changed:
            self._backend.run(
                f"delete from {_COUNTER} where id in (select id from {_COUNTER} limit ?) {MINE}",
                (changed,),
            )
        else:
            self._backend.run(f"delete from {_COUNTER} where false {MINE}")

    def _leave_transaction(self) -> bool:
        """Whether it could be rolled back. A connection that is not as it was when the transaction
        began is exchanged for a new one."""
        self.in_call = False
        if open := self._backend.in_transaction():
            self._backend.run(_ROLLBACK)
        if self._shape and self._read_shape() != self._shape:
            self._backend.close()
            self._connect()
            return False
        return open

    def _savepoint(self) -> None:
        with self._guard.trust():
            self._backend.run(_SAVEPOINT)
        self.in_call = True

    def _end_call(self, *statements: str) -> None:
        self.in_call = False
        with self._guard.trust():
            for statement in statements:
                self._backend.run(statement)

    def _replace(self, content: bytes) -> None:
        # Triggers go first: old versions of SQLite crash on those that outlive the tables they are
        # on.
        for (name,) in self._ask(
            f"select name from sqlite_temp_schema where type = 'trigger' {MINE}"
        ):
            self._backend.run(f"drop trigger temp.{quote(name)} {MINE}")
        self._backend.deserialize(content)
        self._guard_keys()

    def _guard_keys(self) -> None:
        self._backend.script("".join(map(_render_key_guard, self.tables.values())))

    def _clear(self) -> None:
        self._backend.run(f"pragma foreign_keys = off {MINE}")
        for table in self.tables.values():
            self._backend.run(f"delete from main.{quote(table.name)} {MINE}")
        if self._backend.run(
            f"select 1 from sqlite_schema where name = 'sqlite_sequence' {MINE}"
        ).rows:
            self._backend.run(f"delete from sqlite_sequence {MINE}")

    def _fill(self, name: str, given: Json) -> None:
        table = self.tables.get(name)
        if table is None:
            raise ValueError(
                f"there is no table {name!r}; the schema makes {', '.join(self.tables)}"
            )
        rows = list(cast("dict[str, Json]", given).values()) if isinstance(given, dict) else given
        for place, row in enumerate(rows):
            self._insert(table, place, row)

    def _insert(self, table: StoredTable, place: int, given: Json) -> None:
        if not isinstance(given, dict):
            raise ValueError(f"row {place} of {table.name} is no object")
        row = cast("dict[str, Json]", given)
        columns: list[str] = list(row)
        if unknown := [column for column in columns if column not in table.columns]:
            raise ValueError(
                f"row {place} of {table.name} has {unknown[0]!r}; its columns are "
                f"{', '.join(table.columns)}"
            )
        values = [read_value(value) for value in row.values()]
        names, marks = ", ".join(map(quote, columns)), ", ".join("?" * len(columns))
        clause = f"({names}) values ({marks})" if columns else "default values"
        try:
            self._backend.run(
                f"insert into main.{quote(table.name)} {clause} {MINE}", render_parameters(values)
            )  # pyright: ignore[reportArgumentType]
        except (DbError, ValueError) as error:
            raise ValueError(f"row {place} of {table.name}: {error}") from None

    def _read(self, table: StoredTable) -> dict[str, dict[str, Json]]:
        columns = ", ".join(map(quote, table.columns))
        found = self._backend.run(f"select {columns} from main.{quote(table.name)} {MINE}").rows
        places = table.places()
        found.sort(key=lambda row: [rank(row[place]) for place in places])
        return {
            render_key([row[place] for place in places]): render_row(
                dict(zip(table.columns, row, strict=True))
            )
            for row in found
        }


def _render_key_guard(table: StoredTable) -> str:
    """SQLite lets a key be NULL where the table does not forbid it, and such a row cannot be told
    from another."""
    if table.counted:
        return ""
    missing = " or ".join(f"NEW.{quote(column)} is null" for column in table.key)
    said = f"NOT NULL constraint failed: {table.name}.{table.key[0]}".replace("'", "''")
    return "".join(
        render_trigger(
            f"{_KEY_GUARD} {when} {table.name}",
            f"before {when}",
            table,
            f"when {missing}",
            f"raise(abort, '{said}')",
        )
        for when in ("insert", "update")
    )
