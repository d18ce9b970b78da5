"""Plausible arguments for a tool: rows of the collection a parameter points into, choices, numbers
in range, values of the same name."""

import random
import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from envmill.agents.attackers.state_index import StateIndex
from schemas.base import Json, is_array
from schemas.environment import Call, Tool

Schema = Mapping[str, Json]

_CHOICES = re.compile(r"\b(?:[Oo]ne of|[Ee]ither):? ([^.]+)")
_RANGE = re.compile(r"\b(?:[Ff]rom|[Bb]etween) (-?\d+(?:\.\d+)?) (?:to|and) (-?\d+(?:\.\d+)?)")


def list_calls(tool: Tool, state: Mapping[str, Json] | StateIndex, most: int) -> list[Call]:
    """A call for every value its first text parameter might take, likeliest first; a plain call
    when it has none."""
    stock = state if isinstance(state, StateIndex) else StateIndex.of(state)
    base = sample_call(tool, stock, random.Random(0))
    schemas: dict[str, Json] = tool.parameters.get("properties", {})
    texts = [
        name
        for name, schema in schemas.items()
        if first_type(schema) == "string" and not list_choices(schema)
    ]
    if not texts:
        return [base]
    values = [value for value in _offer_texts(texts[0], stock) if isinstance(value, str)][:most]
    return [
        base.model_copy(update={"arguments": base.arguments | {texts[0]: value}})
        for value in values
    ] or [base]


def sample_call(tool: Tool, state: Mapping[str, Json] | StateIndex, dice: random.Random) -> Call:
    """A call that passes validation and names things that exist, as far as names, types and
    descriptions tell."""
    stock = state if isinstance(state, StateIndex) else StateIndex.of(state)
    schemas: dict[str, Json] = tool.parameters.get("properties", {})
    required = set(tool.parameters.get("required", []))
    chosen = {
        name: schema for name, schema in schemas.items() if name in required or dice.random() < 0.5
    }
    actor = "agent" if "agent" in tool.actors else tool.actors[0]
    return Call(
        name=tool.name,
        arguments={
            name: sample_value(name, schema, stock, dice) for name, schema in chosen.items()
        },
        actor=actor,
    )


def sample_value(name: str, schema: Schema, stock: StateIndex, dice: random.Random) -> Json:
    """A value for one parameter."""
    if choices := list_choices(schema):
        return dice.choice(choices)
    kind = first_type(schema)
    if kind == "string":
        return dice.choice(_offer_texts(name, stock) or ["x"])
    if kind == "array":
        items: Json = schema.get("items", {})
        return [
            sample_value(name, items, stock, dice)
            for _ in range(max(1, int(schema.get("minItems", 1))))
        ]
    if kind == "object":
        return {
            part: sample_value(part, inner, stock, dice)
            for part, inner in schema.get("properties", {}).items()
        }
    if kind == "boolean":
        return dice.random() < 0.5
    return sample_number(name, schema, stock, dice) if kind in ("integer", "number") else None


def sample_number(name: str, schema: Schema, stock: StateIndex, dice: random.Random) -> Json:
    """A number in range; half of the time one that some field of this name has."""
    low, high = read_range(schema)
    whole = first_type(schema) == "integer"
    if whole and (home := stock.find_counted(name, 0)):
        return dice.choice(stock.offer_keys(home, schema))
    known = [
        value
        for value in stock.namesakes(name)
        if isinstance(value, int if whole else int | float) and low <= value <= high
    ]
    if known and dice.random() < 0.5:
        return dice.choice(known)
    number = dice.randint(int(low), int(min(high, low + 50)))
    return number if whole else float(number)


def list_choices(schema: Schema) -> list[Json]:
    """The values a parameter is restricted to, by its schema or by its own description."""
    if "enum" in schema:
        return list(schema["enum"])
    if "const" in schema:
        return [schema["const"]]
    return (
        list(_read_choices(str(schema.get("description", ""))))
        if first_type(schema) == "string"
        else []
    )


def read_range(schema: Schema) -> tuple[float, float]:
    """Lowest and highest number a parameter takes, by its schema or by its own description."""
    if "minimum" not in schema and (found := _RANGE.search(str(schema.get("description", "")))):
        return float(found[1]), float(found[2])
    low = float(schema.get("minimum", 1))
    return low, max(low, float(schema.get("maximum", max(50.0, low))))


@lru_cache(512)
def _read_choices(description: str) -> tuple[str, ...]:
    found = _CHOICES.search(description)
    parts = re.split(r",\s*(?:or\s+)?|\s+or\s+", found[1]) if found else []
    return tuple(part.strip(" '\"`") for part in parts if part.strip(" '\"`"))


def _offer_texts(name: str, stock: StateIndex) -> list[Json]:
    """Rows it points into, else values of the same name, else whatever rows are called, else any
    key."""
    if pointed := stock.find_pointed(name):
        return list(stock.rows[pointed])
    known = [value for value in stock.namesakes(name) if isinstance(value, str)]
    return known or stock.labels() or stock.list_keys()


def first_type(schema: Schema | Any) -> str:
    kind: Json = schema.get("type", "string")
    return str(kind[0] if is_array(kind) else kind)
