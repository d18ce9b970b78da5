"""Mistakes in types of tools: what is promised of a reply, or asked for by it, is not so."""

import random
from typing import Any

from offline.faults.base import FaultCase, Spoilt
from schemas.base import Json
from schemas.typed_prompts import MetadataReply

MetadataCase = FaultCase[MetadataReply]


def give_other_type(case: MetadataCase, dice: random.Random) -> Spoilt | None:
    """A value is promised as another type than it has."""
    tools = _dump(case)
    found = [
        one
        for tool in tools
        for one in _open(tool).values()
        if one.get("type") in ("integer", "number")
    ]
    if not found:
        return None
    dice.choice(found)["type"] = "boolean"
    return _make_spoilt(case, tools, "A number is promised as a truth value.")


def promise_more(case: MetadataCase, dice: random.Random) -> Spoilt | None:
    """A value is promised that no reply holds."""
    tools = _dump(case)
    able = [tool for tool in tools if tool["outputs"].get("type") == "object"]
    if not able:
        return None
    tool = dice.choice(able)
    tool["outputs"]["properties"]["receipt_number"] = {"type": "string"}
    tool["outputs"]["required"].append("receipt_number")
    return _make_spoilt(case, tools, f"{tool['name']} replies no receipt_number.")


def wrap_reply(case: MetadataCase, dice: random.Random) -> Spoilt | None:
    """A list is promised as an object that holds it."""
    tools = _dump(case)
    able = [tool for tool in tools if tool["outputs"].get("type") == "array"]
    if not able:
        return None
    tool = dice.choice(able)
    tool["outputs"] = {
        "type": "object",
        "properties": {"results": tool["outputs"]},
        "required": ["results"],
    }
    return _make_spoilt(case, tools, f"{tool['name']} replies a list, with nothing around it.")


def rename_input(case: MetadataCase, dice: random.Random) -> Spoilt | None:
    """An argument is called otherwise than the tool's promise says elsewhere."""
    tools = _dump(case)
    able = [tool for tool in tools if tool["inputs"].get("properties")]
    if not able:
        return None
    inputs = dice.choice(able)["inputs"]
    name = dice.choice(sorted(inputs["properties"]))
    inputs["properties"][f"the_{name}"] = inputs["properties"].pop(name)
    inputs["required"] = [f"the_{name}" if one == name else one for one in inputs["required"]]
    return _make_spoilt(case, tools, f"The argument is called {name}.")


def _open(tool: Any) -> dict[str, Any]:
    """Properties of a reply, or of what it lists."""
    row: Json = tool["outputs"].get("items", tool["outputs"])
    return row.get("properties", {})


def _dump(case: MetadataCase) -> list[Any]:
    return case.reply.model_dump(mode="json")["tools"]


def _make_spoilt(case: MetadataCase, tools: Json, words: str) -> Spoilt:
    return Spoilt(case.reply.model_dump(mode="json") | {"tools": tools}, words=words)
