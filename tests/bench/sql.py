"""A database as state: a jailed call and reset beside a server, a change set beside reading every
row, a statement; and graphs of tools."""

import base64
import json
import sqlite3
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

from envmill.base.settings import ROOT
from envmill.runtime.db import Database, Db, adopt_sessions
from envmill.runtime.db.sessions import ApswConnection
from envmill.runtime.db.triggers import Triggers
from tests.bench.toolgraph import measure_graph

SCHEMA = "create table orders (id integer primary key, customer text, total real, status text)"
SIZES, CHANGED, ROUNDS = (1_000, 10_000, 100_000), 50, 7
STATEMENTS = 2_000
BACKENDS = {"sessions": ApswConnection, "triggers": Triggers}
"""Name in a row → what keeps track of changes; rows are compared by name over years, classes are
renamed."""


def rows() -> Iterator[dict[str, Any]]:
    done = subprocess.run(
        [sys.executable, "-m", "tests.bench.plane.tables"],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        check=True,
        timeout=400,
    )
    yield from json.loads(done.stdout)
    adopt_sessions("apsw")
    told = [row for size in SIZES for row in _change_sets(size)]
    yield from told
    small, *_, large = (row["measured"] for row in told if row["id"].startswith("changes_sessions"))
    yield _row(
        "changes_growth",
        f"change set of {CHANGED} rows of {SIZES[-1]:,}, beside the same number of {SIZES[0]:,}",
        large,
        small,
    )
    yield from _statements()
    yield from measure_graph()


def _change_sets(size: int) -> Iterator[dict[str, Any]]:
    for name, backend in BACKENDS.items():
        database = _fill(Database(SCHEMA, backend), size)
        before = database.state()
        of = f"{CHANGED} rows changed of {size:,}"
        Db(database).execute(
            f"update orders set total = total + 1 where id % {size // CHANGED} = 0"
        )
        asked, read = (
            _median(database.changes),
            _median(lambda database=database, before=before: _compare(before, database.state())),
        )
        yield _row(
            f"changes_{name}_{size}",
            f"change set ({name}), {of}, beside reading and comparing every row",
            asked * 1e3,
            read * 1e3,
        )
        content = base64.b64decode(database.snapshot()["content"])
        reset = _median(lambda database=database: _write_and_reset(database))
        copied = _median(lambda content=content: sqlite3.connect(":memory:").deserialize(content))
        yield _row(
            f"reset_{name}_{size}",
            f"two writes undone ({name}), {size:,} rows, beside a fresh copy",
            reset * 1e3,
            copied * 1e3,
        )
        database.close()


def _statements() -> Iterator[dict[str, Any]]:
    bare = sqlite3.connect(":memory:", isolation_level=None)
    bare.execute(SCHEMA)
    bare.executemany("insert into orders values (?, ?, ?, ?)", _orders(1_000))
    baseline = _each(
        lambda number: bare.execute(
            "select * from orders where id = ?", (number % 1_000,)
        ).fetchall()
    )
    for name, backend in BACKENDS.items():
        db = Db(_fill(Database(SCHEMA, backend), 1_000))
        ours = _each(
            lambda number, db=db: db.query("select * from orders where id = ?", (number % 1_000,))
        )
        yield _row(
            f"query_{name}",
            f"one row by key through the facade ({name}), beside bare sqlite3",
            ours * 1e6,
            baseline * 1e6,
            "us",
        )


def _fill(database: Database, size: int) -> Database:
    names = ("id", "customer", "total", "status")
    database.load({"orders": [dict(zip(names, row, strict=True)) for row in _orders(size)]})
    return database


def _orders(size: int) -> Iterator[tuple[int, str, float, str]]:
    return ((number, f"customer {number % 97}", number * 1.25, "open") for number in range(size))


def _compare(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    return [
        key
        for table, found in after.items()
        for key, row in found.items()
        if before[table].get(key) != row
    ]


def _write_and_reset(database: Database) -> None:
    db = Db(database)
    db.execute("update orders set status = 'paid' where id = 5")
    db.execute("delete from orders where id = 6")
    database.reset()


def _each(act: Callable[[int], object]) -> float:
    def many() -> None:
        for number in range(STATEMENTS):
            act(number)

    return _median(many) / STATEMENTS


def _median(act: Callable[[], object]) -> float:
    seconds: list[float] = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        act()
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def _row(id: str, what: str, measured: float, baseline: float, unit: str = "ms") -> dict[str, Any]:
    return {"id": id, "what": what, "measured": measured, "baseline": baseline, "unit": unit}
