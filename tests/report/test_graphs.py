"""The graph of tools that a page draws: arrows where a reply holds what another tool takes, every
tool in its place."""

from typing import Any

from envmill.report.graphs import MOST, draw_graph
from schemas.environment import Tool
from tests.specimens import make_environment

REPLIES: dict[str, list[Any]] = {
    "list_tools": [[{"tool_id": "T1", "name": "drill"}]],
    "get_member": [{"member_id": "M1", "name": "Ada"}],
}


async def test_an_arrow_leads_to_whoever_takes_what_was_replied() -> None:
    drawn: Any = await draw_graph(make_environment(), REPLIES)
    names = [one["name"] for one in drawn["tools"]]
    arrows = {(names[first], names[then], given) for first, then, _, given in drawn["edges"]}
    assert ("list_tools", "lend", "tool_id") in arrows
    assert all(0 <= one[axis] <= 1 for one in drawn["tools"] for axis in "xy")
    assert len({(one["x"], one["y"]) for one in drawn["tools"]}) == drawn["count"] == len(names)


async def test_nothing_seen_is_nothing_claimed_and_it_is_drawn_alike_twice() -> None:
    bare: Any = await draw_graph(make_environment(), {})
    assert (bare["edges"], len(bare["tools"])) == ([], 3)
    assert await draw_graph(make_environment(), REPLIES) == await draw_graph(
        make_environment(), REPLIES
    )


async def test_more_tools_than_anybody_could_read_are_counted_and_not_drawn() -> None:
    takes: Any = {"type": "object", "properties": {}, "additionalProperties": False}
    many = [
        Tool(name=f"tool_{number}", description="Does it.", parameters=takes, effect="query")
        for number in range(MOST + 1)
    ]
    drawn: Any = await draw_graph(make_environment().model_copy(update={"tools": many}), {})
    assert (drawn["tools"], drawn["count"]) == ([], MOST + 1)
