"""Descriptions of tools: what the plan promises and what the docstring adds reach everybody who sees the interface."""

from typing import Any, cast

import pytest

from envmill.kinds.docstring import join_descriptions, read_description
from envmill.models.gateway import ModelSession
from envmill.stages.build import assemble_environment
from schemas.environment import Blueprint
from schemas.prompts import ProgramReply
from tests.gates.specimens import ORIGIN

PLAN = "Lends a free tool to a member for 7 days. Marks the tool as out and returns the loan."
CLASSES = '''
class Shed:
    """Tools."""

    def __init__(self, state: dict):
        self.tools = state["tools"]

    def find_tools(self, text: str) -> list:
        """Find tools by a part of the name.

        Args:
            text: A part of the name.
        """
        return [dict(row) for row in self.tools.values() if text in row["name"]]

    def lend_tool(self, tool_id: str) -> dict:
        """Lend one.

        A tool that is out is refused.

        Args:
            tool_id: Id of the tool.

        Returns:
            The loan.
        """
        self.tools[tool_id]["free"] = False
        return {"loan": tool_id}
'''
TABLES = CLASSES.replace("(self, state: dict)", "(self, db)").replace('self.tools = state["tools"]', "self._db = db")


class Nobody:
    """An account that was asked for what is assembled."""

    provider, model = "offline", "offline"


def plan(**changes: Any) -> Blueprint:
    fields = {
        "kind": "stateful",
        "brief": {"theme": "tool_shed", "text": "A shed.", "number": 0},
        "name": "Shed",
        "summary": "A shed.",
        "collections": {"tools": ["id", "name", "free"]},
        "rules": [],
        "tools": [
            {"name": "find_tools", "description": "Find tools by a part of the name.", "effect": "query"},
            {"name": "lend_tool", "description": PLAN, "effect": "change"},
        ],
        "policy_document": "",
        "licence": "MIT",
        "origin": ORIGIN,
    }
    return Blueprint.model_validate(fields | changes)


SCHEMA = {"schema.sql": "CREATE TABLE tools (id TEXT PRIMARY KEY, name TEXT NOT NULL, free INTEGER NOT NULL);"}
TOUCHES = {"find_tools": {"reads": ["tools"]}, "lend_tool": {"reads": ["tools"], "writes": ["tools"]}}


@pytest.mark.parametrize(
    ("blueprint", "source"),
    [
        pytest.param(plan(), CLASSES, id="classes"),
        pytest.param(plan(kind="sql", files=SCHEMA, touches=TOUCHES), TABLES, id="tables"),
    ],
)
def test_what_the_plan_says_of_a_tool_survives_its_docstring(blueprint: Blueprint, source: str) -> None:
    environment = assemble_environment(blueprint, ProgramReply(source=source, class_name="Shed"), cast(ModelSession, Nobody()))
    find, lend = environment.tools
    assert find.description == "Find tools by a part of the name."
    assert lend.description == f"{PLAN} Lend one. A tool that is out is refused."
    assert lend.parameters["properties"]["tool_id"]["description"] == "Id of the tool."


def test_each_sentence_is_told_once() -> None:
    assert join_descriptions("Lends a tool.", "Lends a tool. Refuses what is out.") == "Lends a tool. Refuses what is out."
    assert join_descriptions("Lends a  tool. Marks it.", "lends a tool.") == "Lends a tool. Marks it."
    assert join_descriptions("Lends.", "Gives.") == "Lends. Gives."
    assert (
        join_descriptions("Find jobs by job_number or status.", "Finds a job by job number or status.")
        == "Find jobs by job_number or status."
    )
    assert "exact" in join_descriptions("Find a vessel by its number.", "Find a vessel by its exact number."), "one new word is news"


def test_a_docstring_is_read_whole_but_for_its_parameters() -> None:
    told = "First line\ngoes on.\n\nMore.\n\nArgs:\n    x: Not this.\n        Nor this.\n\nReturns:\n    Rows.\n"
    assert read_description(told) == "First line goes on. More. Returns: Rows."
    assert read_description("Args:\n    x: Alone.") == ""
