"""Plausible arguments for a tool, drawn from what lies about in the state."""

import random
from collections.abc import Iterator
from typing import Any

from schemas.base import Json, is_array, is_object
from schemas.environment import Call, Tool


def list_calls(tool: Tool, state: dict[str, Json], most: int) -> list[Call]:
    """A call for every value its first text parameter might take; a plain call when it has none."""
    dice = random.Random(0)
    base = draw_call(tool, state, dice)
    texts = [
        name for name, schema in tool.parameters.get("properties", {}).items() if _first_type(schema) == "string" and "enum" not in schema
    ]
    if not texts:
        return [base]
    values = sorted({*_namesakes(texts[0], state), *_keys(state)})[:most]
    return [base.model_copy(update={"arguments": base.arguments | {texts[0]: value}}) for value in values] or [base]


def draw_call(tool: Tool, state: dict[str, Json], dice: random.Random) -> Call:
    """A call that passes validation and names things that exist, as far as names and types tell."""
    properties: dict[str, Any] = tool.parameters.get("properties", {})
    required = set(tool.parameters.get("required", []))
    chosen = {name: schema for name, schema in properties.items() if name in required or dice.random() < 0.5}
    return Call(name=tool.name, arguments={name: _draw(name, schema, state, dice) for name, schema in chosen.items()})


def _draw(name: str, schema: dict[str, Any], state: dict[str, Json], dice: random.Random) -> Json:
    if "enum" in schema:
        return dice.choice(schema["enum"])
    kind = _first_type(schema)
    if kind == "string":
        return dice.choice(sorted(_namesakes(name, state)) or sorted(_keys(state)) or ["x"])
    if kind == "array":
        return [_draw(name, schema.get("items", {}), state, dice)]
    if kind == "object":
        return {part: _draw(part, inner, state, dice) for part, inner in schema.get("properties", {}).items()}
    numbers: dict[str, Json] = {"integer": dice.randint(1, 5), "number": float(dice.randint(1, 50)), "boolean": dice.random() < 0.5}
    return numbers.get(kind)


def _first_type(schema: dict[str, Any]) -> str:
    kind: Json = schema.get("type", "string")
    return str(kind[0] if is_array(kind) else kind)


def _namesakes(name: str, state: dict[str, Json]) -> Iterator[str]:
    """Text values of fields with the parameter's name, and keys of collections it seems to point into."""
    stem = name.removesuffix("_id")
    for collection, rows in state.items():
        if not is_object(rows):
            continue
        if collection.startswith(stem[:-1] or stem):
            yield from rows
        yield from (row[name] for row in rows.values() if is_object(row) and isinstance(row.get(name), str))


def _keys(state: dict[str, Json]) -> Iterator[str]:
    for rows in state.values():
        if is_object(rows):
            yield from rows
