"""Where a program keeps its state: in its public attributes, or in the tables of a database.

`schema.sql` among an environment's files decides: with it the constructor is given a `Db`, without it the state itself.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from envmill.runtime.canonical import Json, plain
from envmill.runtime.changes import list_changes
from envmill.runtime.program import SCHEMA, ProgramFault
from envmill.runtime.start import StartCache
from envmill.runtime.world import World


class StateHolder(Protocol):
    """One session's state, wherever it is."""

    def begin(self, start: StartCache) -> Any:
        """Start over; what the program's constructor is given."""
        ...

    def read(self, instance: Any) -> dict[str, Any]:
        """The state as it is: live, not a copy."""
        ...

    def settle(self) -> None:
        """A call came to its end: what it did stays."""
        ...

    def revert(self) -> None:
        """A call was refused or broke."""
        ...

    def list_changes(self, start: dict[str, Json], instance: Any) -> Iterator[dict[str, Json]]:
        """What differs from the start: rows of op, path, before, after."""
        ...

    def drain_touched(self) -> dict[str, list[str]]:
        """Tables read and written since this was last asked; empty where there are none."""
        ...

    def snapshot(self) -> Json:
        """What `restore` needs beside the state."""
        ...

    def restore(self, snapshot: Json, state: dict[str, Json]) -> Any:
        """Come back; what the program's constructor is given."""
        ...


class AttributeState:
    """The state is what the instance's public attributes hold."""

    def begin(self, start: StartCache) -> Any:
        return start.copy()

    def read(self, instance: Any) -> dict[str, Any]:
        attributes: dict[str, Any] = instance.__dict__
        return {name: value for name, value in attributes.items() if not name.startswith("_")}

    def settle(self) -> None:
        return

    def revert(self) -> None:
        """Nothing: a program that changes its state before it refuses is at fault, and a gate shall
        see it."""

    def list_changes(self, start: dict[str, Json], instance: Any) -> Iterator[dict[str, Json]]:
        return list_changes(start, plain(self.read(instance)))

    def drain_touched(self) -> dict[str, list[str]]:
        return {}

    def snapshot(self) -> Json:
        return None

    def restore(self, snapshot: Json, state: dict[str, Json]) -> Any:  # noqa: ARG002
        return plain(state)


class TableState:
    """The state is what the tables hold, and nothing else."""

    def __init__(self, schema: str, world: World) -> None:
        self._schema, self._world = schema, world
        self._database: Any = None
        self._make_db: Any = None
        self._loaded: tuple[bytes, int, int] | None = None
        self._after: dict[str, Json] | None = None

    def begin(self, start: StartCache) -> Any:
        """The rows are loaded once and then only rolled back to, while state, clock and seed stay
        the same: defaults read them."""
        database, wanted = self._open(), (start.content, self._world.clock, self._world.seed)
        if wanted == self._loaded:
            database.reset()
            if self._after:
                self._world.restore(self._after)
        else:
            self._loaded = None
            database.load(start.copy())
            self._loaded, self._after = (
                wanted,
                self._world.snapshot() if any(self._world.uses.values()) else None,
            )
        return self._give()

    def read(self, instance: Any) -> dict[str, Any]:
        attributes: dict[str, Any] = instance.__dict__
        if kept := [name for name in attributes if not name.startswith("_")]:
            raise ProgramFault(
                f"{kept[0]} is kept in memory. With a {SCHEMA} all state lives in tables: keep it "
                "there, or begin its name with _."
            )
        return self._database.state()

    def settle(self) -> None:
        if self._database.in_call:
            self._database.commit()

    def revert(self) -> None:
        self._database.rollback()

    def list_changes(self, start: dict[str, Json], instance: Any) -> Iterator[dict[str, Json]]:  # noqa: ARG002
        for change in self._database.changes():
            yield from change.rows()

    def drain_touched(self) -> dict[str, list[str]]:
        return self._open().drain_touched()

    def snapshot(self) -> Json:
        return self._database.snapshot()

    def restore(self, snapshot: Json, state: dict[str, Json]) -> Any:  # noqa: ARG002
        self._loaded = None
        self._open().restore(snapshot)
        return self._give()

    def _open(self) -> Any:
        if self._database is None:
            from envmill.runtime.db import (
                Database,
                Db,
            )  # only where it is wanted: SQLite is no part of other sessions' memory

            self._database, self._make_db = Database(self._schema), Db
        return self._database

    def _give(self) -> Any:
        return self._make_db(self._database)


def hold(schema: str, world: World) -> StateHolder:
    """Tables where there is a schema."""
    return TableState(schema, world) if schema else AttributeState()
