"""Promises in short: they mean what the long form says, and a name that means nothing is told."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.statements import list_statements, read_statement
from schemas.tool_prompts import ToolsetReply

COLUMNS = {
    "tools": {"tag": "text", "status": "text"},
    "loans": {
        "tool_id": "tools",
        "member_id": "key",
        "note": "prose",
        "days": "whole",
        "fee": "decimal",
    },
}
LEND: dict[str, Any] = {
    "takes": {"tool_id": "loans.tool_id", "tool_ids": "tools.id"},
    "looks_at": ["tools", "loans.days"],
    "sets": ["tools.status"],
    "makes": ["loans"],
}


def read(columns: Any = COLUMNS, **promise: Any) -> ToolsetReply:
    tool = {"name": "lend_tool", "description": "Lends.", "effect": "change", **promise}
    return ToolsetReply.model_validate(
        {"name": "Shed", "summary": "A shed.", "rules": [], "columns": columns, "tools": [tool]}
    )


def test_names_become_what_is_said_of_them() -> None:
    reply = read(**LEND)
    (tool,) = reply.tools
    assert {name: (one.of, one.sort, one.refers) for name, one in tool.takes.items()} == {
        "tool_id": ("loans.tool_id", "key", "tools"),
        "tool_ids": ("tools.id", "key", ""),
    }
    assert [one.of for one in tool.looks_at] == [
        "tools.id",
        "tools.tag",
        "tools.status",
        "loans.days",
    ], "a table is all its columns"
    assert [(one.of, one.sort, one.refers) for one in tool.sets] == [
        ("tools.status", "text", ""),
        ("loans.tool_id", "key", "tools"),
        ("loans.member_id", "key", ""),
        ("loans.note", "prose", ""),
        ("loans.days", "whole", ""),
        ("loans.fee", "decimal", ""),
    ], "a new row has all its columns set"
    assert ToolsetReply.model_validate(reply.model_dump()) == reply
    assert ToolsetReply.model_validate_json(reply.model_dump_json()) == reply


def test_what_a_reference_names_is_looked_at() -> None:
    (tool,) = read(takes={"tool_id": "loans.tool_id"}, looks_at=["loans.days"]).tools
    assert [one.of for one in tool.looks_at] == ["loans.days", "tools.id"]


def test_the_long_form_is_read_as_before() -> None:
    mention = {"of": "tools.status", "sort": "text"}
    (tool,) = read({}, takes={"status": mention}, looks_at=[mention], makes=["loans"]).tools
    assert (tool.takes["status"].of, [one.of for one in tool.looks_at], tool.sets) == (
        "tools.status",
        ["tools.status"],
        [],
    )


@pytest.mark.parametrize(
    ("columns", "promise", "words"),
    [
        pytest.param(
            COLUMNS,
            {"looks_at": ["loans.until"]},
            "'loans.until', which `columns` does not list: of loans",
            id="column",
        ),
        pytest.param(
            COLUMNS,
            {"takes": {"member_id": "members.id"}},
            "its tables are tools, loans",
            id="table",
        ),
        pytest.param(COLUMNS, {"sets": ["status"]}, "'status'", id="no-table"),
        pytest.param(
            {"tools": {"tag": "string"}}, {}, "tools.tag holds 'string': write key, text", id="sort"
        ),
        pytest.param({}, {"looks_at": ["tools.status"]}, "looks_at", id="nothing-said-of-columns"),
        pytest.param(
            {"tools": ["tag"]}, {"looks_at": ["tools.tag"]}, "columns", id="columns-as-a-list"
        ),
        pytest.param(COLUMNS, {"looks_at": "tools.tag"}, "looks_at", id="no-list"),
        pytest.param(COLUMNS, {"takes": ["tools.tag"]}, "takes", id="no-map"),
        pytest.param(COLUMNS, {"makes": "loans"}, "makes", id="makes-no-list"),
        pytest.param(COLUMNS, {"makes": [["loans"]]}, "makes", id="makes-strange"),
        pytest.param({"tools": {"tag": ["text"]}}, {}, "columns", id="sort-strange"),
    ],
)
def test_a_name_that_means_nothing_is_told(
    columns: Any, promise: dict[str, Any], words: str
) -> None:
    with pytest.raises(ValidationError, match=words):
        read(columns, **promise)


def test_what_the_database_keeps_is_said_after_the_sort() -> None:
    columns = {
        "tools": {"tag": "text unique", "status": "text: free | on loan", "owner_id": "members?"},
        "members": {"age": "whole? >= -1", "name": "text"},
    }
    (tool,) = read(columns, looks_at=["tools", "members"]).tools
    tag, status, owner, age, name = (one for one in tool.looks_at if not one.of.endswith(".id"))
    assert (tag.unique, tag.empty, status.values) == (True, False, ["free", "on loan"])
    assert (owner.sort, owner.refers, owner.empty, age.least, age.empty) == (
        "key",
        "members",
        True,
        -1,
        True,
    )
    assert name.model_dump() == {"of": "members.name", "sort": "text", "refers": ""}, (
        "what is usual is left out"
    )
    assert (
        ToolsetReply.model_validate_json(read(columns, looks_at=["members"]).model_dump_json())
        .tools[0]
        .looks_at[1]
        == age
    )


@pytest.mark.parametrize(
    ("holds", "ensures", "words"),
    [
        ("whole: 1 | 2", [], "only a text lists its values"),
        ("text >= 1", [], "only a number has a least one"),
        ("text, unique", [], "write key, text"),
        ("things?", [], "or a table of `columns`"),
        ("text: free | out", ["tools.status is lost"], "lists only free, out"),
        ("text", ["tools.status is free"], "lists no values"),
        ("text: free | out", ["tools.state is free"], "does not list"),
    ],
)
def test_what_no_database_keeps_is_told(holds: str, ensures: list[str], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        read({"tools": {"status": holds}}, ensures=ensures)


@pytest.mark.parametrize(
    "said",
    [
        "tools.status is free",
        "tools.status is not out or free",
        "tools.status is null",
        "The tool is free.",
        "tool status is x",
    ],
)
def test_what_can_hold_is_taken(said: str) -> None:
    assert read({"tools": {"status": "text: free | out"}}, requires=[said]).tools[0].requires == [
        said
    ]


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("t.c is free", {"free": True, "out": False, None: False}),
        ("t.c is out or 'late'.", {"late": True, "out": True, "free": False}),
        ("t.c is not free", {"free": False, "out": True, None: True}),
        ("t.c is null", {"": True, None: True, "x": False}),
        ("t.c is not null", {"": False, None: False, 0: True}),
        ("t.c is 3", {3.0: True, 4: False}),
    ],
)
def test_a_statement_holds_of_a_value_or_not(text: str, values: dict[Any, bool]) -> None:
    statement = read_statement(text)
    assert statement is not None
    assert {value: statement.holds(value) for value in values} == values


def test_prose_is_no_statement() -> None:
    assert (
        list(
            list_statements(
                ["The tool is free", "t.c grows by the amount", "T.c is 1", "t.c isn't 1"]
            )
        )
        == []
    )
