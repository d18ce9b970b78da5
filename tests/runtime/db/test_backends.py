"""One contract, two backends: whatever statements do, both tell the same rows, the same change set
and the same state."""

import os
from random import Random
from typing import Any

import pytest

from envmill.runtime.db import Database, Db, DbError
from envmill.runtime.db.base import MakeBackend
from envmill.runtime.db.sessions import ApswConnection
from envmill.runtime.db.triggers import Triggers
from envmill.runtime.world import WORLD
from tests.runtime.db.contest import ROWS, SCHEMA, draw_statements
from tests.soak import count

SEED = os.environ.get("ENVMILL_SEED", "")
CLOCK = 1_750_000_000_123_000


def open_both() -> list[Database]:
    opened: list[Database] = []
    for backend in (ApswConnection, Triggers):
        WORLD.reset(CLOCK, 1)
        opened.append(Database(SCHEMA, backend))
        opened[-1].load(ROWS)
    return opened


def tell(db: Db, sql: str, arguments: tuple[Any, ...]) -> Any:
    try:
        return db.query(sql, arguments)
    except DbError as error:
        return type(error).__name__


def told(database: Database) -> list[Any]:
    return [change.message() for change in database.changes()]


@pytest.mark.soak(area="sandbox")
def test_both_backends_tell_the_same() -> None:
    random = Random(SEED)
    both = open_both()
    loaded = both[0].state_hash()
    seen: set[str] = set()
    for _ in range(count(150, 5_000)):
        for sql, arguments in draw_statements(random, random.randrange(1, 25)):
            answers = [tell(Db(database), sql, arguments) for database in both]
            assert answers[0] == answers[1], (sql, arguments)
            if random.random() < 0.15:
                for database in both:
                    database.rollback() if sql < "m" else database.commit()
            if random.random() < 0.3:
                assert told(both[0]) == told(both[1]), (sql, arguments)
                seen.update(change["op"] + change["table"] for change in told(both[0]))
        assert told(both[0]) == told(both[1])
        assert both[0].state() == both[1].state()
        if random.random() < 0.2:
            for database in both:
                before = told(database), database.state()
                database.restore(database.snapshot())
                assert (told(database), database.state()) == before
        else:
            for database in both:
                database.reset()
                assert told(database) == []
                assert database.state_hash() == loaded
    assert {
        "insertplain",
        "deleteplain",
        "updateplain",
        "updatepairs",
        "deletecounted",
        "updateheirs",
        "insertlog",
        "updatemade",
    } <= seen


@pytest.fixture(params=[ApswConnection, Triggers], ids=["sessions", "triggers"])
def backend(request: pytest.FixtureRequest) -> MakeBackend:
    return request.param


def test_change_set_holds_against_the_rows(backend: MakeBackend) -> None:
    """The change set, applied to the loaded rows as plain dicts, gives the rows of now."""
    random, database = Random(SEED), open_both()[0 if backend is ApswConnection else 1]
    for _ in range(60):
        database.reset()
        before = database.state()
        for sql, arguments in draw_statements(random, 12):
            tell(Db(database), sql, arguments)
        for change in told(database):
            rows = before[change["table"]]
            key = next(
                name
                for name, row in [*rows.items(), ("", change["key"])]
                if change["key"].items() <= row.items()
            )
            if change["op"] == "insert":
                rows[str(sorted(change["after"].items(), key=str))] = change["after"]
            elif change["op"] == "delete":
                assert rows.pop(key) == change["before"]
            else:
                assert change["before"].items() <= rows[key].items()
                rows[key] |= change["after"]
        assert [sorted(rows.values(), key=str) for rows in before.values()] == [
            sorted(rows.values(), key=str) for rows in database.state().values()
        ]
