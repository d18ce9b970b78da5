"""Promises in short: they mean what the long form says, and a name that means nothing is told."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.tool_prompts import ToolsetReply

COLUMNS = {
    "tools": {"tag": "text", "status": "text"},
    "loans": {"tool_id": "tools", "member_id": "key", "note": "prose", "days": "whole", "fee": "decimal"},
}
LEND: dict[str, Any] = {
    "takes": {"tool_id": "loans.tool_id", "tool_ids": "tools.id"},
    "looks_at": ["tools", "loans.days"],
    "sets": ["tools.status"],
    "makes": ["loans"],
}


def read(columns: Any = COLUMNS, **promise: Any) -> ToolsetReply:
    tool = {"name": "lend_tool", "description": "Lends.", "effect": "change", **promise}
    return ToolsetReply.model_validate({"name": "Shed", "summary": "A shed.", "rules": [], "columns": columns, "tools": [tool]})


def test_names_become_what_is_said_of_them() -> None:
    reply = read(**LEND)
    (tool,) = reply.tools
    assert {name: (one.of, one.sort, one.refers) for name, one in tool.takes.items()} == {
        "tool_id": ("loans.tool_id", "key", "tools"),
        "tool_ids": ("tools.id", "key", ""),
    }
    assert [one.of for one in tool.looks_at] == ["tools.id", "tools.tag", "tools.status", "loans.days"], "a table is all its columns"
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
    assert (tool.takes["status"].of, [one.of for one in tool.looks_at], tool.sets) == ("tools.status", ["tools.status"], [])


@pytest.mark.parametrize(
    ("columns", "promise", "words"),
    [
        pytest.param(COLUMNS, {"looks_at": ["loans.until"]}, "'loans.until', which `columns` does not list: of loans", id="column"),
        pytest.param(COLUMNS, {"takes": {"member_id": "members.id"}}, "its tables are tools, loans", id="table"),
        pytest.param(COLUMNS, {"sets": ["status"]}, "'status'", id="no-table"),
        pytest.param({"tools": {"tag": "string"}}, {}, "tools.tag holds 'string': write key, text", id="sort"),
        pytest.param({}, {"looks_at": ["tools.status"]}, "looks_at", id="nothing-said-of-columns"),
        pytest.param({"tools": ["tag"]}, {"looks_at": ["tools.tag"]}, "columns", id="columns-as-a-list"),
        pytest.param(COLUMNS, {"looks_at": "tools.tag"}, "looks_at", id="no-list"),
        pytest.param(COLUMNS, {"takes": ["tools.tag"]}, "takes", id="no-map"),
        pytest.param(COLUMNS, {"makes": "loans"}, "makes", id="makes-no-list"),
        pytest.param(COLUMNS, {"makes": [["loans"]]}, "makes", id="makes-strange"),
        pytest.param({"tools": {"tag": ["text"]}}, {}, "columns", id="sort-strange"),
    ],
)
def test_a_name_that_means_nothing_is_told(columns: Any, promise: dict[str, Any], words: str) -> None:
    with pytest.raises(ValidationError, match=words):
        read(columns, **promise)
