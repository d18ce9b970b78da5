"""Descriptions of tools: what the plan promises and what the docstring adds reach everybody who
sees the interface."""

import ast
from typing import Any, cast

import pytest

from envmill.kinds.docstring import ToolWords, fill_docstrings, join_descriptions, read_description
from envmill.kinds.stateful import derive_tools
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
TABLES = CLASSES.replace("(self, state: dict)", "(self, db)").replace(
    'self.tools = state["tools"]', "self._db = db"
)


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
            {
                "name": "find_tools",
                "description": "Find tools by a part of the name.",
                "effect": "query",
            },
            {"name": "lend_tool", "description": PLAN, "effect": "change"},
        ],
        "policy_document": "",
        "licence": "MIT",
        "origin": ORIGIN,
    }
    return Blueprint.model_validate(fields | changes)


SCHEMA = {
    "schema.sql": "CREATE TABLE tools (id TEXT PRIMARY KEY, name TEXT NOT NULL, free INTEGER NOT NULL);"
}
TOUCHES = {
    "find_tools": {"reads": ["tools"]},
    "lend_tool": {"reads": ["tools"], "writes": ["tools"]},
}


@pytest.mark.parametrize(
    ("blueprint", "source"),
    [
        pytest.param(plan(), CLASSES, id="classes"),
        pytest.param(plan(kind="sql", files=SCHEMA, touches=TOUCHES), TABLES, id="tables"),
    ],
)
def test_what_the_plan_says_of_a_tool_survives_its_docstring(
    blueprint: Blueprint, source: str
) -> None:
    environment = assemble_environment(
        blueprint, ProgramReply(source=source, class_name="Shed"), cast(ModelSession, Nobody())
    )
    find, lend = environment.tools
    assert find.description == "Find tools by a part of the name."
    assert lend.description == f"{PLAN} Lend one. A tool that is out is refused."
    assert lend.parameters["properties"]["tool_id"]["description"] == "Id of the tool."


def test_each_sentence_is_told_once() -> None:
    assert (
        join_descriptions("Lends a tool.", "Lends a tool. Refuses what is out.")
        == "Lends a tool. Refuses what is out."
    )
    assert (
        join_descriptions("Lends a  tool. Marks it.", "lends a tool.") == "Lends a tool. Marks it."
    )
    assert join_descriptions("Lends.", "Gives.") == "Lends. Gives."
    assert (
        join_descriptions(
            "Find jobs by job_number or status.", "Finds a job by job number or status."
        )
        == "Find jobs by job_number or status."
    )
    assert "exact" in join_descriptions(
        "Find a vessel by its number.", "Find a vessel by its exact number."
    ), "one new word is news"


def test_a_docstring_is_read_whole_but_for_its_parameters() -> None:
    told = (
        "First line\ngoes on.\n\nMore.\n\nArgs:\n    x: Not this.\n        Nor this.\n\n"
        "Returns:\n    Rows.\n"
    )
    assert read_description(told) == "First line goes on. More. Returns: Rows."
    assert read_description("Args:\n    x: Alone.") == ""


BARE = """
class Shed:
    def __init__(self, db):
        self._db = db

    def find_tools(self, text: str | None = None) -> list: return self._search(text)

    def lend_tool(self, tool_id: str, member_ids: list[str]) -> dict:
        # The shed is closed on Sundays.
        return {"loan": tool_id, "by": member_ids}

    def _search(self, text):
        return []
"""


def test_a_tool_without_a_docstring_gets_the_words_of_its_plan() -> None:
    outputs = {"type": "array", "items": {"type": "object"}}
    inputs = {
        "type": "object",
        "properties": {
            "text": {"type": "string", "description": 'A part of the name, as in "lad".'}
        },
    }
    blueprint = plan(
        kind="sql",
        files=SCHEMA,
        touches=TOUCHES,
        signatures={"find_tools": {"inputs": inputs, "outputs": outputs}},
    )
    environment = assemble_environment(
        blueprint, ProgramReply(source=BARE, class_name="Shed"), cast(ModelSession, Nobody())
    )
    find, lend = environment.tools
    assert (find.description, lend.description) == ("Find tools by a part of the name.", PLAN)
    assert (
        find.parameters["properties"]["text"]["description"] == 'A part of the name, as in "lad".'
    )
    assert lend.parameters["properties"]["tool_id"]["description"] == "Id of the tool."
    assert lend.parameters["properties"]["member_ids"]["description"] == "Ids of member records."
    source = environment.files["program.py"]
    assert (
        derive_tools(source, "Shed", {"find_tools": "query", "lend_tool": "change"})[1].description
        == PLAN
    ), "the file says it as well"
    body = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef)).body
    told = [
        ast.get_docstring(node)
        for node in body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_")
    ]
    assert told == [None, None], "helpers need none"


def test_a_sentence_of_the_author_is_added_to_the_plan() -> None:
    written = (
        '        """Refused on Sundays.\n\n        Args:\n            tool_id: Not its tag.\n    '
        '    """\n        # The shed'
    )
    source = BARE.replace("        # The shed", written)
    filled = fill_docstrings(
        source,
        "Shed",
        {"find_tools": ToolWords("Finds.", {}), "lend_tool": ToolWords(PLAN, {"tool_id": "No."})},
    )
    find, lend = derive_tools(filled, "Shed", {"find_tools": "query", "lend_tool": "change"})
    assert lend.description == f"{PLAN} Refused on Sundays."
    assert [part["description"] for part in lend.parameters["properties"].values()] == [
        "Not its tag.",
        "Ids of member records.",
    ]
    assert (find.description, find.parameters["properties"]["text"]["description"]) == (
        "Finds.",
        "Text.",
    )


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(CLASSES, id="complete"),
        pytest.param("class Shed:\n  def find_tools(", id="unparsable"),
        pytest.param(BARE.replace("Shed", "Barn"), id="another-class"),
    ],
)
def test_what_is_complete_or_cannot_be_read_stays_byte_for_byte(source: str) -> None:
    plans = {
        name: ToolWords("Plan.", {"text": "T.", "tool_id": "I."})
        for name in ("find_tools", "lend_tool")
    }
    assert fill_docstrings(source, "Shed", plans) == source


@pytest.mark.parametrize(
    "method",
    [
        pytest.param("def f(self, é: str) -> str: x = 'ü'; return x", id="one-line"),
        pytest.param("def f(self, é: str): 'Short.'; return é", id="docstring-on-the-line"),
        pytest.param(
            "def f(\n        self,\n        é: str,\n    ) -> str:\n\n        # why\n        "
            "return é",
            id="long-signature",
        ),
        pytest.param(
            "def f(self, é: str):\n        @wraps\n        def g(): return 1\n        return g()",
            id="decorated-first",
        ),
        pytest.param("@actors('user')\n    def f(self, é: str):\n        return é", id="decorated"),
        pytest.param("def f(self, é: str):\n        'Kept.'\n        return é", id="no-args"),
        pytest.param("def f(self, é: str):\n        'Alone.'", id="nothing-else"),
    ],
)
@pytest.mark.parametrize(
    "words", ["Finds it.", 'Says "so"', 'Three """ quotes', "A back\\slash \\", "Über alles.", '"']
)
def test_words_of_any_form_fit_into_methods_of_any_form(method: str, words: str) -> None:
    source = f"class C:\n    {method}\n\n    def _g(self):\n        return 2\n"
    filled = fill_docstrings(source, "C", {"f": ToolWords(words, {"é": words})})
    (tool,) = derive_tools(filled, "C", {"f": "query"})
    assert tool.description.startswith(words)
    assert tool.parameters["properties"]["é"]["description"] == words
    before, after = _list_bodies(source), _list_bodies(filled)
    assert after == before


def _list_bodies(source: str) -> list[list[str]]:
    """Of each method its statements but the docstring."""
    owner = next(node for node in ast.parse(source).body if isinstance(node, ast.ClassDef))
    methods = [node for node in owner.body if isinstance(node, ast.FunctionDef)]
    return [
        [ast.unparse(line) for line in method.body[ast.get_docstring(method) is not None :]]
        for method in methods
    ]
