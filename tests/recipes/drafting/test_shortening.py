"""What is left out of prompts: docstrings that the tools' descriptions repeat, and rows that show
nothing new."""

import ast

import pytest

from envmill.recipes.drafting.shortening import sample_rows, strip_docstrings
from tests.real_authors.corpus import Item, list_items

SOURCE = '''"""A shed."""

LIMIT = 3


class Shed:
    """Tools and loans."""

    def __init__(self, state):
        self.tools = state

    def list_tools(self) -> list:
        """List the tools.

        Args:
            none: nothing
        """
        return list(self.tools)

    def close(self):
        """Only told."""

    def count(self): "on one line"; return 3

    def _find(self, key):
        """The tool, or a refusal."""
        return self.tools[key]  # """not a docstring"""
'''


def test_docstrings_of_tools_go_and_the_program_stays() -> None:
    short = strip_docstrings(SOURCE)
    for gone in ("A shed", "Tools and loans", "List the tools", "none: nothing"):
        assert gone not in short
    for kept in (
        "LIMIT = 3",
        "Only told.",
        "on one line",
        "The tool, or a refusal.",
        "not a docstring",
    ):
        assert kept in short


@pytest.mark.parametrize("source", ["def broken(:", "", "CREATE TABLE a (id TEXT);", "x = 1"])
def test_what_is_no_program_or_has_no_docstring_stays(source: str) -> None:
    assert strip_docstrings(source) == source


@pytest.mark.parametrize(
    "item",
    [item for item in list_items() if item.recipe != "endless_terminals"],
    ids=lambda item: item.id,
)
def test_a_recorded_program_without_its_docstrings_is_the_same_program(item: Item) -> None:
    reply = item.read("code") or item.read("program")
    assert reply is not None
    before, after = ast.parse(reply["source"]), ast.parse(strip_docstrings(reply["source"]))
    assert len(ast.unparse(after)) <= len(ast.unparse(before))
    assert dump(before) == dump(after)


def dump(tree: ast.Module) -> str:
    """The program without any docstring."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
            and ast.get_docstring(node) is not None
            and len(node.body) > 1
        ):
            node.body = node.body[1:]
    return ast.dump(tree)


def test_three_rows_stand_for_a_table_and_no_value_of_a_status_is_lost() -> None:
    statuses = ["free", "free", "free", "out", "free", "lost", "out", "lost"]
    rows = {
        "tools": {
            f"t{n}": {"id": f"t{n}", "name": f"Tool {n}", "status": status}
            for n, status in enumerate(statuses)
        },
        "empty": {},
    }
    assert {table: list(found) for table, found in sample_rows(rows).items()} == {
        "tools": ["t0", "t1", "t2", "t3", "t5"],
        "empty": [],
    }
    assert sample_rows(rows)["tools"]["t3"] == rows["tools"]["t3"]


def test_references_and_names_are_no_fixed_set() -> None:
    rows = {
        "loans": {
            f"l{n}": {"id": f"l{n}", "tool_id": f"t{n % 2}" if n < 6 else "t9", "note": f"n{n}"}
            for n in range(12)
        }
    }
    assert list(sample_rows(rows)["loans"]) == ["l0", "l1", "l2"]
