"""Slots as text: what is empty or shown apart is left out of records, and never out of data."""

import pytest
from pydantic import Field

from envmill.base.errors import SettingsError
from envmill.models.prompt import Prompt
from envmill.models.rendering import render_slot, render_value
from schemas.base import Contract, Json, canonical_json
from schemas.environment import Tool, ToolPlan
from schemas.proposal import Outline
from schemas.seed import Brief
from schemas.sketch import ToolSketch
from schemas.table_prompts import CodedTool

TAKES: Json = {
    "type": "object",
    "properties": {
        "tool_id": {"type": "string", "description": "Id of the tool."},
        "days": {"type": "integer", "minimum": 1, "default": 7},
    },
    "required": ["tool_id"],
}
LEND = Tool(
    name="lend_tool",
    description="Lend a tool.",
    parameters=TAKES,
    effect="change",
    reads=["tools"],
    writes=["loans"],
)
SKETCH = ToolSketch(
    name="show_tool",
    description="Show it.",
    effect="query",
    inputs={},
    licence="MIT",
    source="openapi",
)
BRIEF = Brief(
    theme="sheds",
    text="Lent.",
    number=0,
    outline=Outline(tools=[SKETCH], tables=[], walks=[["show_tool"]]),
)


ODD = LEND.model_copy(
    update={
        "parameters": {
            "type": "object",
            "properties": {
                "name": {"type": "string"},
                "card": {"type": "string"},
                "also": {"type": "array", "items": TAKES},
            },
            "required": ["name", "card"],
        }
    }
)


@pytest.mark.parametrize("tool", [LEND, ODD], ids=["plain", "nested"])
def test_a_tool_reads_the_same_before_and_after_it_was_stored(tool: Tool) -> None:
    """The lake keeps objects by their keys. Else a model is asked the same twice, and an author
    reads an optional parameter first."""
    stored = Tool.model_validate_json(canonical_json(tool.model_dump(mode="json")))
    assert list(stored.parameters["properties"]) != list(tool.parameters["properties"])
    assert render_value(stored) == render_value(tool)
    assert f"{tool.name}({tool.parameters['required'][0]}: " in render_value(stored)


class Asked(Contract):
    brief: Brief
    rows: dict[str, Json] = Field(default={})


@pytest.mark.parametrize(
    ("tool", "text"),
    [
        pytest.param(
            LEND,
            "- lend_tool(tool_id: string, days?: integer (minimum 1) = 7) change; reads tools; "
"writes loans. Lend a tool.\n"
            "  tool_id: Id of the tool.",
            id="plain",
        ),
        pytest.param(
            ODD,
            "- lend_tool(name: string, card: string, also?: {tool_id: string, days?: integer "
"(minimum 1) = 7}[]) change; reads tools; "
            "writes loans. Lend a tool.\n"
            "  also[].tool_id: Id of the tool.",
            id="nested",
        ),
        pytest.param(LEND.model_copy(update={"actors": ["user"], "reads": [], "writes": [], "parameters": {"type": "object"}}),
                     "- lend_tool() change; called by user. Lend a tool.", id="the user's"),
        pytest.param(ToolPlan(name="list_tools", description="List.", effect="query"), "- list_tools query. List.", id="plan"),
        pytest.param(SKETCH, "- show_tool query. Show it.", id="sketch"),
        pytest.param(
            CodedTool(name="a", description="Do.", effect="query", reads=["t"], writes=[], inputs=TAKES,
                      outputs={"type": "array", "items": {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}}),
            "- a(tool_id: string, days?: integer (minimum 1) = 7) query; reads t. Do.\n  tool_id: "
"Id of the tool.\n"
            "  replies: {id: string}[]",
            id="typed",
        ),
    ],
)  # fmt: skip
def test_a_tool_is_a_signature_with_what_it_means(
    tool: Tool | ToolPlan | ToolSketch, text: str
) -> None:
    assert render_value(tool) == text
    assert render_value([tool, tool]).split("\n") == [
        "",
        *(f"  {line}" for line in [*text.split("\n")] * 2),
    ]


def test_a_record_loses_what_is_empty_and_data_does_not() -> None:
    asked = Asked(brief=BRIEF, rows={"tools": {"t": {"id": "t", "note": "", "loan_id": None}}})
    assert render_slot(asked, "brief") == '{"number":0,"text":"Lent.","theme":"sheds"}'
    assert render_slot(asked, "rows") == '{"tools":{"t":{"id":"t","loan_id":null,"note":""}}}'


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("brief.outline.walks", '[["show_tool"]]'),
        ("brief.outline.tools", "\n  - show_tool query. Show it."),
        ("brief.tools", "null"),
    ],
)
def test_a_slot_may_name_a_part(path: str, text: str) -> None:
    assert render_slot(Asked(brief=BRIEF), path) == text


def test_a_part_of_what_is_missing_is_null_and_a_part_that_does_not_exist_is_a_fault() -> None:
    plain = Asked(brief=Brief(theme="a", text="b", number=1))
    assert render_slot(plain, "brief.outline.tools") == "null"
    with pytest.raises(SettingsError, match=r"\{\{brief.colour\}\}"):
        Prompt("p", "{{brief.colour}}", "h").render(plain, None)
