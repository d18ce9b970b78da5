"""Environments whose state is a database: a `schema.sql` beside the program, and a `Db` in its
constructor."""

from typing import Any

import pytest

from envmill.base.settings import Settings
from envmill.sandbox import (
    Changes,
    Look,
    Observation,
    Program,
    Reset,
    Restore,
    Sandbox,
    Snapshot,
    Step,
)
from schemas.environment import Tool
from tests.sandbox.programs import CLOCK, invoke

SCHEMA = """
create table tools (id text primary key, name text not null, stock integer not null check (stock >= 0));
create table loans (id integer primary key autoincrement, tool text not null references tools (id), at text default current_timestamp);
"""
SOURCE = """
from envmill.runtime import Rejection

class Lending:
    def __init__(self, db):
        self._db = db

    def lend(self, name):
        self._db.execute("update tools set stock = stock - 1 where id = ?", (name,))
        if not self._db.query("select 1 from tools where id = ?", (name,)):
            raise Rejection("unknown", "No such tool.")
        if name == "saw" and self._db.query("select count(*) as n from loans")[0]["n"] > 1:
            raise Rejection("too_many", "Enough.")
        self._db.execute("insert into loans (tool) values (?)", (name,))
        self._db.commit() if name == "axe" else None
        return self._db.query("select id, at, abs(random()) % 1000 as luck from loans order by id desc limit 1")[0]

    def hang(self, name=""):
        self._db.query("with recursive n (i) as (select 1 union all select i + 1 from n) select count(*) from n")

    def break_out(self, name):
        self._db.execute(name)
"""
ROWS: dict[str, Any] = {
    "tools": [{"id": "saw", "name": "Saw", "stock": 3}, {"id": "axe", "name": "Axe", "stock": 1}],
    "loans": [],
}
RESET = Reset(ROWS, CLOCK, 7)


def make_lending(source: str = SOURCE, schema: str = SCHEMA) -> Program:
    takes = {
        "type": "object",
        "properties": {"name": {"type": "string"}},
        "additionalProperties": False,
    }
    tools = [
        Tool(name=name, description="Does it.", parameters=takes, effect="change")
        for name in ("lend", "hang", "break_out")
    ]
    return Program({"program.py": source, "schema.sql": schema}, "program:Lending", tools)


async def play(jail: Sandbox, *steps: Step, program: Program | None = None) -> list[Observation]:
    return await jail.play(program or make_lending(), steps)


def state_of(observation: Observation) -> Any:
    return observation.state


async def test_calls_write_rows_and_refusals_leave_none(jail: Sandbox) -> None:
    seen = await play(
        jail,
        RESET,
        invoke("lend", name="saw"),
        invoke("lend", name="rake"),
        invoke("lend", name="axe"),
        invoke("lend", name="axe"),
        Changes(),
        Look(),
    )
    assert [one.outcome for one in seen] == ["ok", "ok", "rejection", "ok", "failure", "ok", "ok"]
    assert "CHECK constraint" in seen[4].message
    assert seen[3].state_hash == seen[4].state_hash != seen[2].state_hash == seen[1].state_hash
    assert state_of(seen[-1])["tools"]["axe"]["stock"] == 0
    assert [(change["op"], change["path"]) for change in seen[5].parts[0]["value"]] == [
        ("add", ["loans", "1"]), ("add", ["loans", "2"]), ("set", ["tools", "axe", "stock"]), ("set", ["tools", "saw", "stock"]),
    ]  # fmt: skip


async def test_time_and_chance_are_the_sessions(jail: Sandbox, settings: Settings) -> None:
    steps = [RESET, invoke("lend", name="saw"), invoke("lend", name="axe"), Look()]
    first = await play(jail, *steps)
    assert first[1].parts[0]["value"]["at"] == "2026-03-01 09:00:00"
    async with Sandbox.open(settings, hash_seed=5) as other:
        assert [one.state_hash for one in await play(other, *steps)] == [
            one.state_hash for one in first
        ]
        assert (await play(other, *steps))[2].parts == first[2].parts
    luck = (await play(jail, Reset(ROWS, CLOCK, 8), invoke("lend", name="saw")))[1].parts[0][
        "value"
    ]["luck"]
    assert luck != first[1].parts[0]["value"]["luck"]


async def test_reset_and_restore_bring_back_the_rows(jail: Sandbox) -> None:
    lend = invoke("lend", name="saw")
    seen = await play(jail, RESET, lend, Snapshot(), lend, RESET, lend, lend)
    taken = seen[2].parts[0]["value"]
    assert [seen[place].state_hash for place in (4, 5, 6)] == [
        seen[place].state_hash for place in (0, 1, 3)
    ]
    again = await play(jail, Restore(taken), lend, Changes())
    assert again[1].parts == seen[3].parts
    assert again[1].state_hash == seen[3].state_hash
    assert len(again[2].parts[0]["value"]) == 3


async def test_many_episodes_in_one_process_are_alike(jail: Sandbox) -> None:
    """In place or forked: what `current_timestamp` and `random()` gave is the same each time."""
    hashes = set[tuple[str, ...]]()
    for _ in range(12):
        seen = await play(
            jail,
            RESET,
            invoke("lend", name="saw"),
            invoke("break_out", name="commit"),
            invoke("lend", name="axe"),
        )
        hashes.add(tuple(one.state_hash for one in seen))
    assert len(hashes) == 1


async def test_statement_without_end_is_one_failed_call(jail: Sandbox) -> None:
    seen = await play(jail, RESET, invoke("hang"), invoke("lend", name="saw"))
    assert (seen[1].outcome, seen[2].outcome) in (("failure", "ok"), ("failure", "failure"))
    assert "steps" in seen[1].message or seen[1].code == "timeout"


@pytest.mark.parametrize(
    "sql",
    [
        "attach '/etc/passwd' as p",
        "pragma journal_mode = wal",
        "vacuum into '/tmp/x'",
        "select load_extension('/x')",
        "select zeroblob(1000000000)",
    ],
)
async def test_way_out_is_refused(jail: Sandbox, sql: str) -> None:
    seen = await play(jail, RESET, invoke("break_out", name=sql))
    assert seen[1].outcome == "failure"


@pytest.mark.parametrize(
    ("program", "word"),
    [
        (make_lending(schema="create table tools (name text)"), "primary key"),
        (
            make_lending(SOURCE.replace("self._db = db", "self._db = db; self.cache = {}")),
            "cache is kept in memory",
        ),
        (
            make_lending(
                SOURCE.replace(
                    "self._db = db", "self._db = db; self._db.execute('select lost from tools')"
                )
            ),
            "no such column",
        ),
    ],
    ids=["schema", "public attribute", "constructor"],
)
async def test_fault_of_the_program_says_what_to_mend(
    jail: Sandbox, program: Program, word: str
) -> None:
    (seen,) = await play(jail, RESET, program=program)
    assert seen.outcome == "failure"
    assert word in seen.message


async def test_rows_that_do_not_fit_are_named(jail: Sandbox) -> None:
    (seen,) = await play(jail, Reset({"loans": [{"tool": "nobody"}]}, CLOCK, 7))
    assert "refers to a row of tools" in seen.message
