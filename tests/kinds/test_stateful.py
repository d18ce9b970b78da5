"""Tools are read out of source text: the schema they get, and the words for what is wrong."""

import pytest

from envmill.base.errors import BuildError
from envmill.kinds import KINDS
from envmill.kinds.stateful import MAX_SOURCE, derive_tools
from envmill.runtime.schema import check_schema
from schemas.environment import Effect, Tool

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
    assert [(tool.name, tool.effect) for tool in tools] == [
        ("find_books", "query"),
        ("lend", "change"),
        ("count", "query"),
    ]
    assert (
        tools[0].description
        == "Find books whose title holds the words. Reads only. Returns: words: not a "
        "parameter's description."
    )
    for tool in tools:
        check_schema(tool.parameters)


def test_parameters() -> None:
    find, lend, count = derive_tools(SOURCE, "Library", EFFECTS)
    assert find.parameters == {
        "type": "object",
        "properties": {
            "words": {"type": "string", "description": "What to look for, in any order."},
            "limit": {"type": "integer", "description": "At most so many: really.", "default": 10},
            "shelf": {
                "type": ["string", "null"],
                "enum": ["A", "B", None],
                "description": "Shelf: A or B.",
            },
        },
        "required": ["words"],
        "additionalProperties": False,
    }
    kinds = {
        name: (schema["type"], schema.get("items"))
        for name, schema in lend.parameters["properties"].items()
    }
    assert kinds == {
        "ids": ("array", {"type": "string"}),
        "price": ("number", None),
        "gift": (["boolean", "null"], None),
        "extra": ("object", None),
        "code": (["integer", "string"], None),
        "rows": ("array", {"type": "object", "additionalProperties": {"type": "integer"}}),
    }
    assert count.parameters == {
        "type": "object",
        "properties": {},
        "required": [],
        "additionalProperties": False,
    }


def tool(signature: str, docstring: str = "Do it.\n\n        Args:\n            x: An x.\n") -> str:
    return f'class C:\n    def {signature}:\n        """{docstring}        """\n'


@pytest.mark.parametrize(
    ("source", "words"),
    [
        pytest.param("class C:\n  def f(", "Line 2 is no Python", id="syntax"),
        pytest.param("x = '\0'", "is no Python|cannot be parsed", id="null-byte"),
        pytest.param(
            "class C:\n  x = " + "(" * 5000 + ")" * 5000,
            "is no Python|cannot be parsed",
            id="nesting",
        ),
        pytest.param(
            "class C:\n  x = " + "-" * 100_000 + "1",
            "is no Python|cannot be parsed",
            id="recursion",
        ),
        pytest.param("#" * (MAX_SOURCE + 1), "more than the", id="size"),
        pytest.param("class D: pass", "must define one class 'C'", id="class"),
        pytest.param("class C: pass", "lacks the planned tool 'f'", id="planned"),
        pytest.param(
            tool("f(self, x: int)") + "    def g(self):\n        'G.'\n",
            "'g' was not planned",
            id="unplanned",
        ),
        pytest.param(tool("f(self, x)"), "'x' without a type annotation", id="annotation"),
        pytest.param(tool("f(self, x: set)"), "the annotation `set` is not supported", id="set"),
        pytest.param(tool("f(self, x: list[int] | list[str])"), "is not supported", id="union"),
        pytest.param(
            tool(f"f(self, x: {'|'.join(['int'] * 3000)})"),
            "too deeply|cannot be parsed|is no Python",
            id="deep-annotation",
        ),
        pytest.param(tool("f(self, x: 'list[')"), "parameter 'x'", id="broken-string"),
        pytest.param(
            tool("f(self, x: int, y: int)"), "does not describe its parameter 'y'", id="undescribed"
        ),
        pytest.param(tool("f(self, x: int)", ""), "no docstring", id="docstring"),
        pytest.param(
            tool("f(self, x: int)", "\n        Args:\n            x: An x.\n"),
            "no docstring",
            id="no-paragraph",
        ),
        pytest.param(tool("f(self, *x: int)"), "starred", id="starred"),
        pytest.param(tool("f(self, x: int, /)"), "positional-only", id="positional"),
        pytest.param(tool("f(x: int)"), "self first", id="self"),
        pytest.param("class C:\n    async def f(self): 'F.'", "is async", id="async"),
        pytest.param(
            "class C:\n    @property\n    def f(self): 'F.'", "is decorated", id="decorated"
        ),
        pytest.param(
            "class C:\n    def f(self): 'F.'\n    def f(self): 'F.'", "defined twice", id="twice"
        ),
        pytest.param(
            "class C:\n    @actors\n    def f(self): 'F.'", "is decorated", id="actors-uncalled"
        ),
        pytest.param(
            "class C:\n    @actors()\n    def f(self): 'F.'", "names its actors", id="actors-none"
        ),
        pytest.param(
            "class C:\n    @actors(WHO)\n    def f(self): 'F.'",
            "names its actors",
            id="actors-by-name",
        ),
        pytest.param(
            "class C:\n    @actors('a', 'a')\n    def f(self): 'F.'",
            "names its actors",
            id="actors-twice",
        ),
        pytest.param(
            "class C:\n    @actors('')\n    def f(self): 'F.'",
            "names its actors",
            id="actors-empty",
        ),
        pytest.param(
            tool("f(self, x: int = 'a')"),
            "contradicts itself: the default of parameter 'x' must be integer",
            id="default",
        ),
        pytest.param(tool("f(self, x: str = None)"), "must be string, not null", id="default-null"),
        pytest.param(
            tool("f(self, x: list[str] = [])"),
            "a default that calls would share",
            id="default-shared",
        ),
        pytest.param(tool("f(self, _x: int)"), "begins with a letter", id="parameter-name"),
        pytest.param(
            tool("f(self, x: dict[int, str])"), "is not supported", id="mapping-by-number"
        ),
        pytest.param(tool("f(self, x: Any)"), "is not supported", id="any"),
        pytest.param(
            "class C:\n    def f(self): 'F.'\n    def _next_due(self): pass",
            "stands alone",
            id="course-alone",
        ),
        pytest.param(
            "class C:\n    def f(self): 'F.'\n    def _next_due(self): pass\n    def "
            "_fall_due(self, x): pass",
            "takes parameters",
            id="course",
        ),
        pytest.param(
            "class C:\n    def f(self): 'F.'\n    def reset(self): 'R.'",
            "consumers",
            id="forbidden",
        ),
        pytest.param(
            "class C:\n    def f(self): 'F.'\n    def get__x(self): 'R.'", "consumers", id="dunder"
        ),
    ],
)
def test_faults_name_tool_and_mend(source: str, words: str) -> None:
    effects: dict[str, Effect] = {"f": "query"}
    with pytest.raises(BuildError, match=words):
        derive_tools(source, "C", effects)


def test_the_place_is_told() -> None:
    source = (
        tool("f(self, x: int)") + "    def g(\n        self,\n        y,\n    ):\n        'G.'\n"
    )
    with pytest.raises(
        BuildError, match=r"^Line 10: tool 'g' has parameter 'y' without a type annotation\.$"
    ) as fault:
        derive_tools(source, "C", {"f": "query", "g": "query"})
    assert fault.value.facts == {"tool": "g", "line": 10}


def test_actors_mappings_and_defaults() -> None:
    source = '''
class C:
    @actors("user", "agent")
    def f(self, sizes: dict[str, int], notes: dict[str, Any], count: int = -1, who: str | None = None) -> None:
        """Do it.

        Args:
            sizes: By side.
            notes: Anything.
            count: How many.
            who: Who.
        """

    def _next_due(self): ...

    def _fall_due(self): ...
'''
    (found,) = derive_tools(source, "C", {"f": "change"})
    assert found.actors == ["user", "agent"]
    properties = found.parameters["properties"]
    assert properties["sizes"] == {
        "type": "object",
        "additionalProperties": {"type": "integer"},
        "description": "By side.",
    }
    assert properties["notes"] == {"type": "object", "description": "Anything."}
    assert properties["count"]["default"] == -1
    assert "default" not in properties["who"]


def test_a_tool_of_the_agent_alone_is_written_as_before_there_were_actors() -> None:
    fields = {"name": "f", "description": "F.", "parameters": {}, "effect": "query"}
    assert Tool.model_validate(fields).model_dump(mode="json") == fields
    assert Tool.model_validate(fields | {"actors": ["user"]}).model_dump(mode="json") == fields | {
        "actors": ["user"]
    }


ALIASED = '''
from typing import Literal, TypeAlias

Part = Literal["seat", "frame"]
Grade: TypeAlias = Literal[1, 2]
Damage = dict[str, int]

class Depot:
    def note(self, part: {part}, grades: list[Grade] | None = None) -> None:
        """Note damage.

        Args:
            part: What is torn.
            grades: How badly.
        """
'''


def test_a_set_of_values_may_have_a_name() -> None:
    (tool,) = derive_tools(ALIASED.format(part="Part"), "Depot", {"note": "change"})
    part, grades = tool.parameters["properties"]["part"], tool.parameters["properties"]["grades"]
    assert part["enum"] == ["seat", "frame"]
    assert "[1, 2]" in str(grades)
    with pytest.raises(BuildError, match="Damage"):
        derive_tools(ALIASED.format(part="Damage"), "Depot", {"note": "change"})
