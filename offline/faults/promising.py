"""Mistakes in what tools promise: tables that follow from them could not be, or could not be
filled."""

import random
from typing import Any

from offline.faults.base import FaultCase, Spoilt
from schemas.base import Json
from schemas.tool_prompts import ToolsetReply

ToolsetCase = FaultCase[ToolsetReply]
_LISTS = ("looks_at", "sets")


def sort_otherwise(case: ToolsetCase, dice: random.Random) -> Spoilt | None:
    """Two tools say that a column holds different things."""
    tools = _dump(case)
    told = [
        one
        for tool in tools
        for part in _LISTS
        for one in tool[part]
        if one["sort"] in ("whole", "decimal")
    ]
    often = [one for one in told if sum(other["of"] == one["of"] for other in told) > 1]
    if not often:
        return None
    one = dice.choice(often)
    one["sort"] = "text"
    return _make_spoilt(case, tools, f"{one['of']} is a number to one tool and a text to another.")


def refer_nowhere(case: ToolsetCase, dice: random.Random) -> Spoilt | None:
    """A column refers to a table that no tool speaks of."""
    tools = _dump(case)
    owned = sorted(
        {one["of"] for tool in tools for part in _LISTS for one in tool[part] if one["refers"]}
    )
    if not owned:
        return None
    wanted = dice.choice(owned)
    for one in (
        one
        for tool in tools
        for one in (*tool["takes"].values(), *tool["looks_at"], *tool["sets"])
        if one["of"] == wanted
    ):
        one["refers"] += "_list"
    return _make_spoilt(case, tools, f"{wanted} refers to a table that is not there.")


def leave_unset(case: ToolsetCase, dice: random.Random) -> Spoilt | None:
    """A tool makes a row and does not set all of it."""
    tools = _dump(case)
    makers = [
        (tool, one)
        for tool in tools
        for one in tool["sets"]
        if one["of"].partition(".")[0] in tool["makes"]
    ]
    if not makers:
        return None
    tool, one = dice.choice(makers)
    tool["sets"].remove(one)
    return _make_spoilt(case, tools, f"{tool['name']} makes a row and does not set {one['of']}.")


def promise_nothing(case: ToolsetCase, dice: random.Random) -> Spoilt:
    """A tool speaks of no column at all."""
    tools = _dump(case)
    dice.choice(tools).update({"takes": {}, "looks_at": [], "sets": [], "makes": []})
    return _make_spoilt(case, tools, "A tool that touches nothing.")


def misspell_table(case: ToolsetCase, dice: random.Random) -> Spoilt | None:
    """A new row goes to a table that nobody else speaks of."""
    tools = _dump(case)
    makers = [tool for tool in tools if tool["makes"]]
    if not makers:
        return None
    tool = dice.choice(makers)
    table = tool["makes"][0]
    tool["makes"][0] = f"{table}_new"
    return _make_spoilt(case, tools, f"{tool['name']} makes a row of {table}_new.")


def _dump(case: ToolsetCase) -> list[dict[str, Any]]:
    return [tool.model_dump(mode="json") for tool in case.reply.tools]


def _make_spoilt(case: ToolsetCase, tools: Json, words: str) -> Spoilt:
    return Spoilt(case.reply.model_dump(mode="json") | {"tools": tools}, words=words)
