"""The fixed subset of JSON Schema that tool arguments are written in, and its validator.

Subset: `type` (or a list of types), `enum`, `minLength`, `maxLength`, `items`, `properties`, `required`,
`additionalProperties: false`; `description`, `default` and `title` say something and check nothing.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

Json: TypeAlias = Any
Schema: TypeAlias = Mapping[str, Any]

KEYWORDS = frozenset(
    ("type", "enum", "minLength", "maxLength", "items", "properties", "required", "additionalProperties", "description", "default", "title")
)

TYPES: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    # A bool is an int in Python, and never in JSON.
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}


def check_schema(schema: Json) -> None:
    """Raise ValueError when a schema steps outside the subset: an ignored keyword would be a hole in validation."""
    if not isinstance(schema, dict):
        raise ValueError("a schema must be an object")
    known: dict[str, Json] = schema  # pyright: ignore[reportUnknownVariableType]
    unknown = sorted(set(known) - KEYWORDS)
    if unknown:
        raise ValueError(f"JSON Schema keyword {unknown[0]!r} is outside the subset: {', '.join(sorted(KEYWORDS))}")
    for name in _types(known):
        if name not in TYPES:
            raise ValueError(f"JSON Schema type {name!r} is unknown")
    for part in (*known.get("properties", {}).values(), *([known["items"]] if "items" in known else [])):
        check_schema(part)


def find_fault(schema: Schema, value: Json, at: str = "arguments") -> str:
    """What is wrong with a value, in one line; empty when nothing is."""
    types = schema.get("type", ())
    # Nearly every schema names one type, and this runs before every call.
    if not TYPES[types](value) if isinstance(types, str) else types and not any(TYPES[name](value) for name in types):
        return f"{at} must be {_spoken(types)}, not {_type_of(value)}"
    if "enum" in schema and not any(_same(value, option) for option in schema["enum"]):
        return f"{at} must be one of {', '.join(repr(option) for option in schema['enum'])}"
    if isinstance(value, str):
        return _string_fault(schema, value, at)
    if isinstance(value, list):
        return _array_fault(schema, value, at)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, dict):
        return _object_fault(schema, value, at)  # pyright: ignore[reportUnknownArgumentType]
    return ""


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _spoken(types: str | list[str]) -> str:
    return types if isinstance(types, str) else " or ".join(types)


def _type_of(value: Json) -> str:
    return next((name for name, holds in TYPES.items() if holds(value)), type(value).__name__)


def _same(value: Json, option: Json) -> bool:
    return value == option and isinstance(value, bool) == isinstance(option, bool)


def _string_fault(schema: Schema, value: str, at: str) -> str:
    if len(value) < schema.get("minLength", 0):
        return f"{at} must have at least {schema['minLength']} characters"
    if len(value) > schema.get("maxLength", len(value)):
        return f"{at} must have at most {schema['maxLength']} characters"
    return ""


def _array_fault(schema: Schema, value: list[Json], at: str) -> str:
    items = schema.get("items")
    faults = (find_fault(items, item, f"{at}[{place}]") for place, item in enumerate(value)) if items else ()
    return next(filter(None, faults), "")


def _object_fault(schema: Schema, value: dict[str, Json], at: str) -> str:
    properties: Mapping[str, Schema] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in value:
            return f"{at} lacks the required {name!r}"
    for name, item in value.items():
        if name in properties:
            if fault := find_fault(properties[name], item, f"{at}.{name}"):
                return fault
        elif schema.get("additionalProperties") is False:
            return f"{at} has no parameter {str(name)[:60]!r}; known: {', '.join(properties) or 'none'}"
    return ""
