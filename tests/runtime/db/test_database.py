"""A database under a session: what tools may do, what a call keeps, what a reset brings back, and
whose clock it reads."""

from typing import Any

import pytest

from envmill.runtime.db import BrokenConstraint, Database, Db, DbError, SchemaFault
from envmill.runtime.db.base import MakeBackend
from envmill.runtime.db.sessions import ApswConnection
from envmill.runtime.db.triggers import Triggers
from envmill.runtime.world import WORLD

SCHEMA = """
create table loans (id text primary key, tool text not null, days integer check (days > 0), at text default current_timestamp);
create table notes (id integer primary key autoincrement, loan text references loans (id), text text);
"""
ROWS: dict[str, Any] = {
    "loans": {"a": {"id": "a", "tool": "saw", "days": 2}},
    "notes": [{"loan": "a", "text": "sharp"}],
}
CLOCK = 1_750_000_000_123_000


@pytest.fixture(params=[ApswConnection, Triggers], ids=["sessions", "triggers"])
def backend(request: pytest.FixtureRequest) -> MakeBackend:
    WORLD.reset(CLOCK, 5)
    return request.param


@pytest.fixture
def database(backend: MakeBackend) -> Database:
    opened = Database(SCHEMA, backend, budget=2_000_000)
    opened.load(ROWS)
    return opened


@pytest.fixture
def db(database: Database) -> Db:
    return Db(database)


def test_state_is_table_key_row(database: Database) -> None:
    assert database.state() == {
        "loans": {"a": {"id": "a", "tool": "saw", "days": 2, "at": "2025-06-15 15:06:40"}},
        "notes": {"1": {"id": 1, "loan": "a", "text": "sharp"}},
    }


@pytest.mark.parametrize(
    ("sql", "word"),
    [
        ("attach ':memory:' as other", "ATTACH"),
        ("detach main", "DETACH"),
        ("pragma foreign_keys = off", "PRAGMA"),
        ("pragma writable_schema = on", "PRAGMA"),
        ("vacuum into '/tmp/out'", "VACUUM"),
        ("create table more (id integer primary key)", "schema is fixed"),
        ("create temp table more (id integer primary key)", "schema is fixed"),
        ("drop table notes", "schema is fixed"),
        ("alter table notes add column extra", "schema is fixed"),
        ("create trigger t after insert on notes begin select 1; end", "schema is fixed"),
        ("reindex", "schema is fixed"),
        ("analyze", "schema is fixed"),
        ("select load_extension('x')", "load_extension"),
        ("select envmill_touch('loans', 0, 'z')", "envmill_touch"),
        ("select sqlite_version()", "sqlite_version"),
        ("delete from notes; delete from loans", "one statement"),
        (
            "with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) "
            "from n",
            "steps",
        ),
        ("select count(*) from loans where id = ?", "parameters"),
        ("select * from envmill_counter", "envmill_counter"),
        ("insert into temp.envmill_counter values (9)", "envmill_counter"),
        ("select total_changes()", "total_changes"),
        ("selekt 1", "syntax"),
    ],
)
def test_statement_is_refused_and_leaves_nothing(
    database: Database, db: Db, sql: str, word: str
) -> None:
    before = database.state()
    with pytest.raises(DbError, match=word):
        db.query(sql)
    assert (database.state(), database.changes()) == (before, [])
    assert db.query("select count(*) as n from loans") == [{"n": 1}]


def test_statement_met_again_is_held_to_the_same(database: Database, db: Db) -> None:
    add, count = (
        "insert into loans (id, tool, days) values (?, 'axe', ?)",
        "select id from loans where days > ?",
    )
    for name in ("b", "c"):
        assert [db.execute(add, (name, 3)), db.query(count, (9,))] == [1, []]
        for wrong, fault in (
            ((name, 3), BrokenConstraint),
            ((f"{name}2", 0), BrokenConstraint),
            ((name,), DbError),
        ):
            with pytest.raises(fault):
                db.execute(add, wrong)
    assert [row["id"] for row in db.query(count, (2,))] == ["b", "c"]
    database.reset()
    assert (db.query(count, (0,)), database.changes()) == ([{"id": "a"}], [])


class Cut(BaseException):
    """What a deadline raises, wherever a statement is."""


@pytest.mark.parametrize("known", [False, True], ids=["first", "known"])
def test_statement_that_is_cut_short_leaves_nothing_open(
    database: Database, db: Db, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    db.execute("insert into loans (id, tool) values ('b', 'axe')")
    before, asked = database.state(), "update loans set days = 1 + abs(random()) % 3 returning id"
    if known:
        db.query(asked)
        db.rollback()
        db.execute("insert into loans (id, tool) values ('b', 'axe')")

    def cut() -> None:
        raise Cut

    with monkeypatch.context() as patched:
        patched.setattr(WORLD, "rng", cut)
        with pytest.raises((Cut, DbError)):
            db.query(asked)
    assert (database.state(), len(database.changes())) == (before, 1)
    database.commit()
    assert len(db.query(asked)) == 2
    database.reset()
    assert (database.changes(), len(database.state()["loans"])) == ([], 1)


def test_trust_that_a_deadline_left_open_is_no_tools(database: Database, db: Db) -> None:
    database._guard.trust().__enter__()  # pyright: ignore[reportPrivateUsage]
    with pytest.raises(DbError, match="PRAGMA"):
        db.query("pragma foreign_keys = off")


@pytest.mark.parametrize(
    "sql",
    [
        "insert into loans (id, tool) values ('a', 'axe')",
        "insert into loans (id, tool) values (null, 'axe')",
        "update loans set id = null",
        "insert into loans (id, tool, days) values ('b', 'axe', 0)",
        "insert into notes (loan) values ('nobody')",
        "delete from loans",
    ],
)
def test_constraint_is_told_apart(database: Database, db: Db, sql: str) -> None:
    with pytest.raises(BrokenConstraint):
        db.execute(sql)
    assert database.changes() == []


@pytest.mark.parametrize(
    "value", [[1], {"a": 1}, 2**63, object()], ids=["list", "dict", "huge", "object"]
)
def test_parameter_that_sqlite_cannot_store_is_named(db: Db, value: object) -> None:
    with pytest.raises(DbError, match="parameter number 1"):
        db.query("select ? as x", [value])


@pytest.mark.parametrize("more", ["", " where l.id = 'nobody'"], ids=["rows", "none"])
def test_two_columns_of_one_name_are_not_lost(db: Db, more: str) -> None:
    with pytest.raises(DbError, match="AS"):
        db.query(f"select l.id, n.id from loans l join notes n on n.loan = l.id{more}")


@pytest.mark.parametrize("ending", ["commit", "begin", "rollback", "end"])
def test_reset_survives_code_that_ends_the_transaction(
    database: Database, db: Db, ending: str
) -> None:
    loaded = database.state_hash()
    for _ in range(3):
        db.execute("update loans set days = days + 1")
        db.execute(ending)
        db.commit()
        db.execute("insert into notes (loan, text) values ('a', 'again')")
        db.execute(ending)
        assert len(database.changes()) == 2
        database.reset()
        assert (database.state_hash(), database.changes()) == (loaded, [])


def test_reset_survives_a_transaction_ended_behind_its_back(database: Database, db: Db) -> None:
    loaded = database.state()
    db.execute("update loans set days = 9")
    with database._guard.trust():  # pyright: ignore[reportPrivateUsage]
        database._backend.run("commit")  # pyright: ignore[reportPrivateUsage]
    database.reset()
    assert database.state() == loaded


def test_numbers_given_out_start_over(database: Database, db: Db) -> None:
    """AUTOINCREMENT remembers in a table of its own, which no change set shows."""
    db.execute("insert into notes (loan) values ('a')")
    database.reset()
    assert db.query("insert into notes (loan) values ('a') returning id") == [{"id": 2}]
    snapshot = database.snapshot()
    assert db.query("insert into notes (loan) values ('a') returning id") == [{"id": 3}]
    database.restore(snapshot)
    assert db.query("insert into notes (loan) values ('a') returning id") == [{"id": 3}]


COUNTS = "select last_insert_rowid() as inserted, changes() as changed"


def test_counts_of_a_connection_start_over(
    backend: MakeBackend, database: Database, db: Db
) -> None:
    """A rollback leaves both as they were: an `insert or ignore` that does nothing would be told
    the last session's id."""
    assert db.query(COUNTS) == [{"inserted": 0, "changed": 0}]
    db.execute("insert into notes (id, text) values (7, 'a'), (8, 'b')")
    assert db.query(COUNTS) == [{"inserted": 8, "changed": 2}]
    database.reset()
    assert db.query(COUNTS) == [{"inserted": 0, "changed": 0}]
    other = Database(SCHEMA, backend)
    other.load(ROWS)
    for used in (db, Db(other)):
        used.execute("insert or ignore into notes (id, text) values (1, 'known')")
        assert used.query(COUNTS) == [{"inserted": 0, "changed": 0}]


@pytest.mark.parametrize("last", [0, 1, 2, 9])
def test_counts_of_a_connection_come_along_with_a_snapshot(
    backend: MakeBackend, database: Database, db: Db, last: int
) -> None:
    db.execute("insert into notes (id, text) values (2, 'a'), (9, 'b')")
    db.execute("update notes set text = 'c' where id <= ?", (last,))
    other = Database(SCHEMA, backend)
    other.restore(database.snapshot())
    assert Db(other).query(COUNTS) == db.query(COUNTS)


CHANGED: dict[str, list[str]] = {
    "committed rows": ["update loans set days = 9", "commit", "begin"],
    "committed, and no transaction since": ["update loans set days = 9", "commit"],
    "trigger": [
        "commit",
        "create temp trigger more after insert on notes begin update loans set days = 9; end",
        "begin",
    ],
    "table": ["commit", "create table more (id integer primary key)", "begin"],
    "temporary table": ["commit", "create temp table more (id integer primary key)", "begin"],
    "pragma": ["commit", "pragma foreign_keys = off", "begin"],
    "database attached": ["commit", "attach ':memory:' as more", "begin"],
}


@pytest.mark.parametrize("changed", CHANGED)
def test_connection_that_is_not_as_it_was_serves_nobody_again(
    database: Database, db: Db, changed: str
) -> None:
    """What only code can do that got hold of the connection itself."""
    loaded, connection = database.state(), database._backend  # pyright: ignore[reportPrivateUsage]
    db.execute("insert into notes (loan) values ('a')")
    database.reset()
    assert database._backend is connection  # pyright: ignore[reportPrivateUsage]
    with database._guard.trust():  # pyright: ignore[reportPrivateUsage]
        for statement in CHANGED[changed]:
            connection.run(statement)
    database.reset()
    assert database._backend is not connection  # pyright: ignore[reportPrivateUsage]
    assert (database.state(), database.changes()) == (loaded, [])
    db.execute("insert into notes (loan) values ('a')")
    assert [change.key for change in database.changes()] == [{"id": 2}]
    assert database.state()["loans"] == loaded["loans"]


def test_call_that_raises_leaves_what_it_committed(database: Database, db: Db) -> None:
    db.execute("update loans set days = 3")
    db.commit()
    db.execute("update loans set days = 4")
    db.rollback()
    db.rollback()
    assert database.state()["loans"]["a"]["days"] == 3


def test_snapshot_goes_to_another_database(
    backend: MakeBackend, database: Database, db: Db
) -> None:
    db.execute("update loans set days = 3")
    other = Database(SCHEMA, backend)
    other.restore(database.snapshot())
    assert (other.state(), other.changes()) == (database.state(), database.changes())
    other.reset()
    database.reset()
    assert other.state() == database.state()


def test_blobs_leave_as_json_and_come_back(backend: MakeBackend) -> None:
    database = Database("create table files (name text primary key, content blob)", backend)
    database.load({"files": [{"name": "a", "content": {"$blob": "AP8="}}]})
    assert Db(database).query("select content from files") == [{"content": b"\x00\xff"}]
    assert database.state() == {"files": {"a": {"name": "a", "content": {"$blob": "AP8="}}}}


@pytest.mark.parametrize(
    "expression",
    [
        "datetime('now')", "date()", "time('now', '+90 minutes')", "julianday('NOW')", "strftime('%Y-%m-%d %H:%M:%f', 'now')",
        "strftime('%s')", "unixepoch()", "current_timestamp", "current_date", "current_time", "datetime('now', 'start of month', '-1 day')",
        "datetime('2020-01-31', '+1 month')", "date(null)", "datetime('nonsense')", "datetime(1092941466, 'unixepoch')",
        "round(julianday('now') - julianday('2025-01-01'), 6)",
    ],
)  # fmt: skip
def test_time_is_virtual_and_alike(expression: str) -> None:
    answers: list[Any] = []
    for backend in (ApswConnection, Triggers):
        WORLD.reset(CLOCK, 5)
        database = Database(SCHEMA, backend)
        database.load({})
        first = Db(database).query(f"select {expression} as x")[0]["x"]
        WORLD.advance(86_400 * 40)
        answers.append((first, Db(database).query(f"select {expression} as x")[0]["x"]))
    assert answers[0] == answers[1]
    if "now" in expression.lower() or expression.startswith("current_d"):
        assert answers[0][0] != answers[0][1] or expression.startswith("time")


def test_known_moment(db: Db) -> None:
    assert db.query("select datetime('now') as a, current_timestamp as b, unixepoch() as c") == [
        {"a": "2025-06-15 15:06:40", "b": "2025-06-15 15:06:40", "c": 1_750_000_000}
    ]
    assert WORLD.uses["clock"] > 0


def test_chance_is_seeded_and_counted(backend: MakeBackend) -> None:
    drawn: list[Any] = []
    for seed in (5, 5, 6):
        WORLD.reset(CLOCK, seed)
        database = Database(SCHEMA, backend)
        database.load({})
        drawn.append(
            Db(database).query(
                "select random() as r, hex(randomblob(4)) as b, abs(random()) % 10 as d"
            )
        )
        assert WORLD.uses["randomness"] >= 3
    assert drawn[0] == drawn[1] != drawn[2]


@pytest.mark.parametrize(
    ("schema", "word"),
    [
        ("create table t (a text)", "primary key"),
        ("create table t (id primary key)", "without a type"),
        ("create table t (id text collate nocase primary key)", "nocase"),
        (
            "create table t (id integer primary key, t integer references t (id) deferrable "
            "initially deferred)",
            "INITIALLY DEFERRED",
        ),
        ("create virtual table t using fts5 (a)", "virtual"),
        ("", "no table"),
        ("create tabel t (id integer primary key)", "syntax"),
        (f"{SCHEMA}; create view v as select * from nowhere", "view v cannot be read .*nowhere"),
        (f"{SCHEMA}; create view v as select v.id from v", "view v cannot be read .*circular"),
        (f"{SCHEMA}; attach ':memory:' as other", "ATTACH"),
        (f"{SCHEMA}; pragma foreign_keys = off", "PRAGMA"),
        (f"{SCHEMA}; pragma writable_schema = on", "PRAGMA"),
        (f"{SCHEMA}; begin", "only create"),
        (f"{SCHEMA}; drop table notes", "only create"),
        (f"{SCHEMA}; create temp table loans (id text primary key)", "only create"),
        (
            f"{SCHEMA}; create temp trigger t before update on loans begin select raise(ignore); "
            "end",
            "only create",
        ),
        (f"{SCHEMA}; create temp view loans as select 1 as id", "only create"),
        (
            f"{SCHEMA}; create trigger envmill_x after update on loans begin delete from notes; "
            "end",
            "keeps for its own",
        ),
    ],
)
def test_schema_whose_rows_cannot_be_followed_is_refused(
    backend: MakeBackend, schema: str, word: str
) -> None:
    with pytest.raises(SchemaFault, match=word):
        Database(schema, backend)


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ({"loan": []}, "no table 'loan'"),
        ({"loans": [{"id": "a", "tol": "saw"}]}, "'tol'"),
        ({"loans": [{"id": "a"}]}, "row 0 of loans"),
        ({"loans": ["a"]}, "no object"),
        ({"loans": [{"id": "a", "tool": ["saw"]}]}, "type list"),
        ({"notes": [{"loan": "nobody"}]}, "refers to a row of loans"),
    ],
)
def test_rows_that_do_not_fit_are_named(
    backend: MakeBackend, rows: dict[str, Any], word: str
) -> None:
    with pytest.raises(SchemaFault, match=word):
        Database(SCHEMA, backend).load(rows)


FORGED = """
create trigger forge before update on loans begin select envmill_touch('loans', 1, OLD.id, NEW.id, NEW.tool, NEW.days, NEW.at); end;
create trigger ahead after insert on notes begin select envmill_touch('loans', 1, 'a', 'a', 'saw', 9, NEW.text); end;
"""


@pytest.mark.parametrize(
    "first",
    ["update loans set days = 9", "insert into notes (text) values ('2025-06-15 15:06:40')"],
)
def test_trigger_cannot_rewrite_what_was_remembered(backend: MakeBackend, first: str) -> None:
    """A note made ahead of the change would make the row look untouched."""
    database = Database(SCHEMA + FORGED, backend)
    database.load(ROWS | {"notes": []})
    db = Db(database)
    with pytest.raises(DbError, match="envmill_touch"):
        db.execute(first)
    with database._guard.trust():  # pyright: ignore[reportPrivateUsage]
        database._backend.run("drop trigger forge")  # pyright: ignore[reportPrivateUsage]
    db.execute("update loans set days = 9")
    assert [(one.table, one.before) for one in database.changes()] == [("loans", {"days": 2})]


@pytest.mark.parametrize(
    "sql",
    [
        "select zeroblob(1000000000) as b",
        "insert into notes (text) values (zeroblob(1000000000))",
        "update loans set tool = hex(zeroblob(400000000))",
        "select replace(hex(zeroblob(2000000)), '0', 'abcdefgh') as b",
        "with recursive n (t) as (select 'x' union all select t || t from n) select "
        "max(length(t)) as b from n",
    ],
)
def test_values_of_a_gigabyte_are_refused(database: Database, db: Db, sql: str) -> None:
    before = database.state()
    with pytest.raises(DbError, match="too big"):
        db.query(sql)
    assert (database.state(), database.changes()) == (before, [])
