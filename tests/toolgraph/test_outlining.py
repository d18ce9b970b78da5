"""Outlines: domains cut to the size of environments, with nothing lost on the way."""

import asyncio

import pytest

from envmill.models.rendering import render_value
from envmill.toolgraph.outlining import (
    OutlinePart,
    Size,
    add_walks,
    cut_outputs,
    is_plain,
    outline_proposal,
)
from envmill.toolgraph.proposing import propose_domains
from schemas.proposal import Proposal
from schemas.sketch import ToolSketch
from tests.toolgraph.shop import SHOP


@pytest.fixture(scope="module")
def shop() -> Proposal:
    (found,) = asyncio.run(
        propose_domains([tool.model_copy(update={"licence": "MIT"}) for tool in SHOP], walks=0)
    )
    return found


def tell_all(parts: list[OutlinePart]) -> set[str]:
    return {tool.name for part in parts for tool in part.outline.tools} | {
        name for part in parts for name in part.outline.left_out
    }


@pytest.mark.parametrize(("most", "tables"), [(24, 6), (8, 6), (24, 2), (6, 1)])
def test_every_tool_is_in_a_part_or_left_out_with_a_reason(
    shop: Proposal, most: int, tables: int
) -> None:
    parts = outline_proposal(shop, Size(most, tables))
    assert parts
    assert {tool.name for tool in shop.tools} <= tell_all(parts)
    for part in parts:
        assert len(part.outline.tools) <= most
        known = {table.name for table in part.outline.tables}
        assert all({*tool.reads, *tool.writes} <= known for tool in part.outline.tools)
        referred = {
            column.references.partition(".")[0]
            for table in part.outline.tables
            for column in table.columns
        }
        assert referred - {""} <= known
        assert part.licence == "MIT"


def test_a_part_grows_until_it_is_as_large_as_asked_for(shop: Proposal) -> None:
    usual, asked = (
        outline_proposal(shop, Size(tables=1)),
        outline_proposal(shop, Size(tables=1, asked=len(shop.tables))),
    )
    assert [len(part.outline.tables) for part in asked] == [len(shop.tables)]
    assert max((len(part.outline.tables) for part in usual), default=0) <= 1 < len(shop.tables)
    assert Size.of(None, None) == Size()
    assert Size.of(60, None).most > 60
    assert Size.of(60, None).tables > Size().tables


def test_a_part_bears_the_name_of_those_whose_tools_it_holds(shop: Proposal) -> None:
    bank = [tool.model_copy(update={"service": "bank"}) for tool in shop.tools]
    (part, *_) = outline_proposal(
        shop.model_copy(update={"name": "shop, bank: order", "tools": bank})
    )
    assert part.name.split()[0] == "bank"


def test_an_author_is_told_plain_inputs_and_what_is_needed(shop: Proposal) -> None:
    (part, *_) = outline_proposal(shop)
    for tool in part.outline.tools:
        needed = set(tool.inputs.get("required") or [])
        assert needed <= tool.inputs["properties"].keys()
        assert all(
            one.get("type") not in ("object", "array") or name in needed
            for name, one in tool.inputs["properties"].items()
        )


def test_an_author_is_told_what_documents_say_a_tool_returns(shop: Proposal) -> None:
    """Plain values alone, a dozen of them, and nothing of pages."""
    line = {
        "type": "object",
        "properties": {
            "sku": {"type": "string"},
            "count": {"type": "integer", "description": "How many."},
        },
    }
    properties = {
        "order": {
            "type": "object",
            "properties": {
                "order_id": {"type": "string"},
                "lines": {"type": "array", "items": line},
            },
        },
        "tags": {"type": "array", "items": {"type": "string"}},
        "nextToken": {"type": "string"},
        "anything": {"type": "object"},
    }
    tools = [
        tool.model_copy(update={"outputs": {"type": "object", "properties": properties}})
        for tool in shop.tools
    ]
    (part, *_) = outline_proposal(shop.model_copy(update={"tools": tools}))
    kept = part.outline.tools[0].outputs
    assert kept["properties"].keys() == {"order", "tags"}
    assert kept["properties"]["tags"] == {"type": "array", "items": {"type": "string"}}
    assert kept["properties"]["order"]["properties"]["lines"]["items"]["properties"] == {
        "sku": {"type": "string"},
        "count": {"type": "integer"},
    }
    assert "lines?: {count?: integer, sku?: string}[]" in render_value(part.outline.tools)
    assert cut_outputs({"type": "array", "items": line})["items"]["properties"].keys() == {
        "sku",
        "count",
    }
    assert cut_outputs({}) == {}
    many = {"type": "object", "properties": {f"value_{n}": {"type": "string"} for n in range(40)}}
    assert len(cut_outputs(many)["properties"]) == 12


async def test_walks_stay_within_a_part_and_come_out_the_same(shop: Proposal) -> None:
    (part, *_) = outline_proposal(shop)
    walks = (await add_walks(part, 3)).outline.walks
    assert walks == (await add_walks(part, 3)).outline.walks
    assert walks
    assert {name for walk in walks for name in walk} <= {tool.name for tool in part.outline.tools}


def test_what_needs_a_list_is_not_plain() -> None:
    schema = {
        "type": "object",
        "properties": {"names": {"type": "array"}, "name": {"type": "string"}},
    }
    assert is_plain(ToolSketch(name="a", inputs=schema | {"required": ["name"]}))
    assert not is_plain(ToolSketch(name="a", inputs=schema | {"required": ["name", "names"]}))
