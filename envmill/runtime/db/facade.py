"""The database as a tool sees it: a few plain words, the same in the factory and in an export."""

from collections.abc import Mapping, Sequence
from typing import Any

from envmill.runtime.db.database import Database
from envmill.runtime.db.faults import DbError

Parameters = Sequence[Any] | Mapping[str, Any]


class Db:
    """What a program's constructor is given when its environment has a `schema.sql`.

    A call is a transaction: what it wrote stays when it returns, and is undone when it raises.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    def query(self, sql: str, parameters: Parameters = ()) -> list[dict[str, Any]]:
        """Rows of a statement, each as column → value."""
        columns, rows, _ = self._database.run(sql, parameters)
        # Each row has a value for each column: to have that checked takes as long as to make the
        # row.
        named = [dict(zip(columns, row)) for row in rows]  # noqa: B905
        if len(named[0] if named else set(columns)) < len(columns):
            raise DbError(
                f"two columns of the answer have one name ({', '.join(columns)}): name them with AS"
            )
        return named

    def execute(self, sql: str, parameters: Parameters = ()) -> int:
        """Run a statement; how many rows it inserted, updated or deleted."""
        return self._database.run(sql, parameters).changed

    def executemany(self, sql: str, many: Sequence[Parameters]) -> int:
        """Run a statement once for each set of parameters."""
        return sum(self.execute(sql, parameters) for parameters in many)

    def commit(self) -> None:
        """Keep what was written so far even if the call raises later."""
        self._database.commit()

    def rollback(self) -> None:
        """Undo what the call wrote since it began, or since its last commit."""
        self._database.rollback()
