"""Tools are read out of source text: the schema they get, and the words for what is wrong."""

import pytest

from envmill.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.stateful import MAX_SOURCE, derive_tools
from envmill.runtime.schema import check_schema
from schemas.environment import Effect

SOURCE = '''
from typing import Literal, Optional
raise RuntimeError("the source is never executed")

class Library:
    """Not a tool's text."""

    def __init__(self, state: dict):
        self.books = state["books"]

    def find_books(self, words: str, limit: int = 10, *, shelf: Optional[Literal["A", "B"]] = None) -> list:
        """Find books whose title
        holds the words.

        Reads only.

        Args:
            words: What to look for,
                in any order.
            limit (int): At most
                so many: really.
            shelf: Shelf: A or B.

        Returns:
            words: not a parameter's description.
        """

    def _note(self, anything):
        pass

    def lend(self, ids: list[str], price: float, gift: "bool | None", extra: dict, code: int | str, rows: list[dict[str, int]]):
        """Lend books.

        Args:
            ids: Ids.
            price: Price.
            gift: Whether it is a gift.
            extra: More.
            code: Code.
            rows: Rows.
        """

    def count(self) -> int:
        """Count the books."""
'''
EFFECTS: dict[str, Effect] = {"find_books": "query", "lend": "change", "count": "query"}


def test_tools_in_source_order_with_description_and_effect() -> None:
    tools = KINDS["stateful"].derive_tools(SOURCE, "Library", EFFECTS)
    assert [(tool.name, tool.effect) for tool in tools] == [("find_books", "query"), ("lend", "change"), ("count", "query")]
    assert tools[0].description == "Find books whose title holds the words."
    for tool in tools:
        check_schema(tool.parameters)


def test_parameters() -> None:
    find, lend, count = derive_tools(SOURCE, "Library", EFFECTS)
    assert find.parameters == {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "What to look for, in any order."},
            "limit": {"type": "integer", "description": "At most so many: really.", "default": 10},
            "shelf": {"type": ["string", "null"], "enum": ["A", "B", None], "description": "Shelf: A or B."},
        },
        "required": ["words"],
        "additionalProperties": False,
    }
    kinds = {name: (schema["type"], schema.get("items")) for name, schema in lend.parameters["properties"].items()}
    assert kinds == {
        "ids": ("array", {"type": "string"}),
        "price": ("number", None),
        "gift": (["boolean", "null"], None),
        "extra": ("object", None),
        "code": (["integer", "string"], None),
        "rows": ("array", {"type": "object"}),
    }
    assert count.parameters == {"type": "object", "properties": {}, "required": [], "additionalProperties": False}


def tool(signature: str, docstring: str = "Do it.\n\n        Args:\n            x: An x.\n") -> str:
    return f'class C:\n    def {signature}:\n        """{docstring}        """\n'


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("class C:\n  def f(", "Line 2 is no Python", id="syntax"),
        pytest.param("x = '\0'", "is no Python|cannot be parsed", id="null-byte"),
        pytest.param("class C:\n  x = " + "(" * 5000 + ")" * 5000, "is no Python|cannot be parsed", id="nesting"),
        pytest.param("class C:\n  x = " + "-" * 100_000 + "1", "is no Python|cannot be parsed", id="recursion"),
        pytest.param("#" * (MAX_SOURCE + 1), "more than the", id="size"),
        pytest.param("class D: pass", "must define one class 'C'", id="class"),
        pytest.param("class C: pass", "lacks the planned tool 'f'", id="planned"),
        pytest.param(tool("f(self, x: int)") + "    def g(self):\n        'G.'\n", "'g' was not planned", id="unplanned"),
        pytest.param(tool("f(self, x)"), "'x' without a type annotation", id="annotation"),
        pytest.param(tool("f(self, x: set)"), "the annotation `set` is not supported", id="set"),
        pytest.param(tool("f(self, x: list[int] | list[str])"), "is not supported", id="union"),
        pytest.param(tool(f"f(self, x: {'|'.join(['int'] * 3000)})"), "too deeply|cannot be parsed|is no Python", id="deep-annotation"),
        pytest.param(tool("f(self, x: 'list[')"), "parameter 'x'", id="broken-string"),
        pytest.param(tool("f(self, x: int, y: int)"), "does not describe its parameter 'y'", id="undescribed"),
        pytest.param(tool("f(self, x: int)", ""), "no docstring", id="docstring"),
        pytest.param(tool("f(self, x: int)", "\n        Args:\n            x: An x.\n"), "no docstring", id="no-paragraph"),
        pytest.param(tool("f(self, *x: int)"), "starred", id="starred"),
        pytest.param(tool("f(self, x: int, /)"), "positional-only", id="positional"),
        pytest.param(tool("f(x: int)"), "self first", id="self"),
        pytest.param("class C:\n    async def f(self): 'F.'", "is async", id="async"),
        pytest.param("class C:\n    @property\n    def f(self): 'F.'", "is decorated", id="decorated"),
        pytest.param("class C:\n    def f(self): 'F.'\n    def f(self): 'F.'", "defined twice", id="twice"),
        pytest.param("class C:\n    def f(self): 'F.'\n    def reset(self): 'R.'", "consumers", id="forbidden"),
        pytest.param("class C:\n    def f(self): 'F.'\n    def get__x(self): 'R.'", "consumers", id="dunder"),
    ],
)
def test_faults_name_tool_and_mend(source: str, words: str) -> None:
    effects: dict[str, Effect] = {"f": "query"}
    with pytest.raises(BuildError, match=words):
        derive_tools(source, "C", effects)
