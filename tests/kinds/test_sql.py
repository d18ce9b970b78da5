"""The `sql` kind: tables read out of a schema, policies of their columns, and the tables each tool
may touch."""

import re
from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.sql import add_touches, derive_tables, derive_tools, list_policies
from schemas.environment import Tool
from schemas.folder import Touch

SCHEMA = """
-- people; and what they own
create table if not exists "people" (id INTEGER PRIMARY KEY autoincrement, name text not null default 'a, b; (c)',
    born text as (substr(name, 1)));
create table [things] (
    owner int not null references people on delete cascade, name varchar(10, 2), price decimal (8, 2) check (price > (0)),
    constraint one primary key (owner, name desc)
) without rowid;
create table loans (key text primary key, owner int, name text, foreign key (owner, name) references things (owner, name));
create unique index by_name on people (name);
create trigger watch after insert on people begin update people set name = 'x;y'; delete from loans; end;
create view all_things as select * from things;
"""


def test_a_schema_is_read_without_being_run() -> None:
    people, things, loans = derive_tables(
        {"schema.sql": SCHEMA},
        {"things.price": 0.01, "loans.key": "exempt", "people.name": "semantic"},
    )
    assert (people.name, people.key, [column.name for column in people.columns]) == (
        "people",
        ["id"],
        ["id", "name"],
    )
    assert [(column.policy, column.tolerance) for column in people.columns] == [
        ("exempt", 0.0),
        ("semantic", 0.0),
    ]
    assert (things.key, [column.references for column in things.columns]) == (
        ["owner", "name"],
        ["people.id", "", ""],
    )
    assert [(column.policy, column.tolerance) for column in things.columns] == [
        ("hard", 0.0),
        ("hard", 0.0),
        ("tolerance", 0.01),
    ]
    assert [(column.type, column.references) for column in loans.columns] == [
        ("text", ""), ("int", "things.owner"), ("text", "things.name"),
    ]  # fmt: skip
    assert loans.columns[0].policy == "exempt"


def test_policies_lead_back_to_the_tables() -> None:
    tables = derive_tables({"schema.sql": SCHEMA}, {"people.id": "hard", "things.price": 0.01})
    assert derive_tables({"schema.sql": SCHEMA}, list_policies(tables)) == tables


@pytest.mark.parametrize(
    ("schema", "policies", "said"),
    [
        pytest.param("", {}, "makes no table", id="no table"),
        pytest.param("create table a (x text)", {}, "no primary key", id="no key"),
        pytest.param(
            "create table a (x integer primary key, y text, foreign key (x, y) references a (x))",
            {},
            "name as many",
            id="uneven key",
        ),
        pytest.param(
            "create table a (x integer primary key, y text references)",
            {},
            "names no table",
            id="no target",
        ),
        pytest.param(
            "create table a (x integer primary key, y text references a ())",
            {},
            "name as many",
            id="no target column",
        ),
        pytest.param("create table", {}, "write its columns out", id="cut off"),
        pytest.param(
            "create table a as select 1", {}, "write its columns out", id="made of a query"
        ),
        pytest.param(
            "create table a (x int primary key); create table a (y int primary key)",
            {},
            "twice",
            id="twice",
        ),
        pytest.param("create virtual table a using fts5(x)", {}, "may only CREATE", id="virtual"),
        pytest.param(
            "create table a (x int primary key); insert into a values (1)",
            {},
            "may only CREATE",
            id="rows in the schema",
        ),
        pytest.param(
            "create table a (x int primary key references b)",
            {},
            "which it does not make",
            id="a reference to nothing",
        ),
        pytest.param(
            "create table a (x int primary key, y)",
            {"a.z": "exempt"},
            "does not make. Known: a.x, a.y",
            id="a policy for nothing",
        ),
        pytest.param(
            "create table a (x int primary key, y)",
            {"a.y": 0.0},
            "write a number above 0",
            id="no tolerance",
        ),
        pytest.param(
            "create table a (x int primary key, y)",
            {"a.x": "semantic"},
            "a key is hard, or exempt",
            id="a semantic key",
        ),
        pytest.param(
            "create table a (x int primary key, y references a)",
            {"a.y": 1.0},
            "so make it hard",
            id="a reference that is near",
        ),
    ],
)
def test_what_is_wrong_is_said_with_its_mend(schema: str, policies: Any, said: str) -> None:
    with pytest.raises(BuildError, match=re.escape(said)):
        derive_tables({"schema.sql": schema}, policies)


def test_without_a_schema_there_is_no_such_environment() -> None:
    with pytest.raises(BuildError, match=r"add schema\.sql"):
        derive_tables({}, {})
    with pytest.raises(BuildError, match="make the kind sql"):
        KINDS["stateful"].derive_tables({}, {"a.b": "exempt"})


@pytest.mark.parametrize(
    ("touches", "effect", "said"),
    [
        pytest.param({}, "query", "Nothing says which tables", id="nothing said"),
        pytest.param(
            {"look": Touch(reads=["people", "loan"])}, "query", "touch 'loan'", id="no such table"
        ),
        pytest.param(
            {"look": Touch(reads=["people"], writes=["loans"])},
            "query",
            "is a query and writes loans",
            id="a query that writes",
        ),
        pytest.param(
            {"look": Touch(reads=["people"])},
            "change",
            "is a change and writes no table",
            id="a change that writes nothing",
        ),
        pytest.param(
            {"lock": Touch(reads=["people"])},
            "query",
            "a tool 'lock' that there is not",
            id="no such tool",
        ),
    ],
)
def test_every_tool_says_which_tables_it_touches(touches: Any, effect: Any, said: str) -> None:
    tools = [Tool(name="look", description="Looks.", parameters={"type": "object"}, effect=effect)]
    tables = derive_tables({"schema.sql": SCHEMA}, {})
    with pytest.raises(BuildError, match=re.escape(said)):
        add_touches(tools, touches, tables)


def test_the_constructor_is_given_the_database() -> None:
    head = (
        "class C:\n    def __init__(self{}):\n        pass\n\n    def look(self) -> list:\n      "
        '  """Looks."""\n        return []\n'
    )
    assert derive_tools(head.format(", db"), "C", {"look": "query"})[0].name == "look"
    with pytest.raises(BuildError, match=r"give it `def __init__\(self, db\)`"):
        derive_tools(head.format(""), "C", {"look": "query"})
