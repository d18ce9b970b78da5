"""What a backend is: one connection in memory that runs statements and knows what they changed."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from envmill.runtime.db.changes import RowChange
from envmill.runtime.db.faults import BrokenConstraint, DbError
from envmill.runtime.db.guard import DatabaseGuard
from envmill.runtime.db.tables import StoredTable

Parameters = Sequence[Any] | Mapping[str, Any]

SETUP = ("pragma foreign_keys = on", "pragma recursive_triggers = on", "pragma temp_store = memory")
"""Both backends alike. Recursive triggers: without them REPLACE deletes a row and tells nobody."""


LONGEST_VALUE = 16 * 2**20
"""Bytes of one value, and of one row: SQLite's own bound is a gigabyte, which no reply could carry
and no state should hold."""
WRONG_BINDINGS = "the parameters given are not those the statement names"


class StatementResult(NamedTuple):
    """What a statement came to."""

    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]
    changed: int
    """Rows it inserted, updated or deleted by itself, triggers and cascades aside."""


class Backend(Protocol):
    """One connection. For what a statement does wrong it raises DbError or BrokenConstraint, and
    nothing else."""

    def run(self, sql: str, parameters: Parameters = ()) -> StatementResult:
        """Run exactly one statement."""
        ...

    def script(self, sql: str) -> None:
        """Run the statements of a schema."""
        ...

    def in_transaction(self) -> bool: ...

    def written(self) -> int:
        """A number that grows with every row written."""
        ...

    def watch(self, tables: Mapping[str, StoredTable], seen: str = "") -> None:
        """From here on remember what changes, going on from what `seen` once told."""
        ...

    def seen(self) -> str:
        """What was remembered, as text, to go on from elsewhere."""
        ...

    def changes(self) -> list[RowChange]:
        """What differs since `watch`, in order."""
        ...

    def serialize(self) -> bytes:
        """The whole database, uncommitted rows included."""
        ...

    def deserialize(self, content: bytes) -> None:
        """Replace the whole database. No transaction may be open.

        By way of a copy: a connection that was deserialized into would leave uncommitted rows out
        when it is serialized.
        """
        ...

    def close(self) -> None: ...


MakeBackend = Callable[[DatabaseGuard], Backend]

_LONGEST = 500


def translate(guard: DatabaseGuard, error: BaseException, constraint: bool = False) -> DbError:
    """A backend's error in the words both have in common."""
    text = guard.refused or str(error).split("Error: ", 1)[-1]
    if isinstance(error, UnicodeError):
        text = "text that is not UTF-8"
    return (BrokenConstraint if constraint else DbError)(text[:_LONGEST])
