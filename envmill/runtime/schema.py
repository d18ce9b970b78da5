"""The fixed subset of JSON Schema that tool arguments are written in, and its validator.

schema ──check_schema──► inside the subset ──compile_schema──► a function: value ─► what is wrong with it

Inside the subset the verdict is that of JSON Schema 2020-12: `1.0` is an integer, and `settle`
makes it one.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

from envmill.runtime.canonical import Json, is_array, is_object
from envmill.runtime.changes import same

Schema: TypeAlias = Mapping[str, Any]
Check: TypeAlias = Callable[[Json], str]
"""Empty when a value passes; else what is wrong, beginning with the path from the value: `.title
must be …`."""

MAX_DEPTH = 16
"""Levels of a schema."""

TYPES: dict[str, Callable[[Json], bool]] = {
    "string": lambda value: isinstance(value, str),
    # A bool is an int in Python, and never in JSON.
    "integer": lambda value: (
        (isinstance(value, int) and not isinstance(value, bool))
        or (isinstance(value, float) and value.is_integer())
    ),
    "number": lambda value: (
        isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    ),
    "boolean": lambda value: isinstance(value, bool),
    "null": lambda value: value is None,
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
_EXACT: dict[str, type] = {
    "string": str,
    "integer": int,
    "boolean": bool,
    "array": list,
    "object": dict,
}
"""A value of exactly this type needs no further look."""


def check_schema(schema: Json, depth: int = MAX_DEPTH) -> None:
    """Raise ValueError when a schema steps outside the subset: an ignored keyword would be a hole
    in validation."""
    if not is_object(schema):
        raise ValueError("a schema must be an object")
    if not depth:
        raise ValueError(f"a JSON Schema nested deeper than {MAX_DEPTH} levels")
    for keyword, value in schema.items():
        if keyword not in KEYWORDS:
            raise ValueError(
                f"JSON Schema keyword {keyword!r} is outside the subset: "
                f"{', '.join(sorted(KEYWORDS))}"
            )
        if not KEYWORDS[keyword](value):
            if keyword == "type":
                raise ValueError(f"JSON Schema type {value!r} is unknown")
            raise ValueError(f"JSON Schema keyword {keyword!r} cannot be {str(value)[:60]!r}")
    for part in _subschemas(schema):
        check_schema(part, depth - 1)


def find_fault(schema: Schema, value: Json, at: str = "arguments") -> str:
    """What is wrong with a value, in one line; empty when nothing is."""
    fault = compile_schema(schema)(value)
    return f"{at}{fault}" if fault else ""


def compile_schema(schema: Schema) -> Check:
    """A schema as one function; compiled once, it validates every call."""
    checks = [make(schema) for keyword, make in _CHECKS.items() if keyword in schema]
    if any(keyword in schema for keyword in ("properties", "required", "additionalProperties")):
        checks.append(_check_object(schema))
    if len(checks) == 1:
        return checks[0]
    if len(checks) == 2:
        first, second = checks
        return lambda value: first(value) or second(value)

    def check(value: Json) -> str:
        for one in checks:
            if fault := one(value):
                return fault
        return ""

    return check


def settle(schema: Schema, value: Json) -> Json:
    """The value with `1.0` made `1` wherever the schema asks for an integer; the value must have
    passed."""
    if isinstance(value, float):
        types = _types(schema)
        return (
            int(value)
            if "integer" in types and "number" not in types
            else _settle_any(schema, value)
        )
    if is_array(value) and "items" in schema:
        return [settle(schema["items"], item) for item in value]
    if is_object(value):
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        rest = others if is_object(others) else {}
        value = {name: settle(properties.get(name, rest), item) for name, item in value.items()}
    return _settle_any(schema, value)


def _settle_any(schema: Schema, value: Json) -> Json:
    for option in schema.get("anyOf", ()):
        if not compile_schema(option)(value):
            return settle(option, value)
    return value


def _subschemas(schema: Schema) -> Iterator[Json]:
    yield from schema.get("properties", {}).values()
    yield from schema.get("anyOf", ())
    yield from (
        schema[keyword]
        for keyword in ("items", "additionalProperties")
        if not isinstance(schema.get(keyword, False), bool)
    )


def _types(schema: Schema) -> list[str]:
    types = schema.get("type", [])
    return [types] if isinstance(types, str) else list(types)


def _type_of(value: Json) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return "number"
    return next((name for name, holds in TYPES.items() if holds(value)), type(value).__name__)


def _check_type(schema: Schema) -> Check:
    types = _types(schema)
    spoken = " or ".join(types)
    if len(types) == 1:
        holds, exact = TYPES[types[0]], _EXACT.get(types[0])
        return lambda value: (
            ""
            if type(value) is exact or holds(value)
            else f" must be {spoken}, not {_type_of(value)}"
        )
    all_hold = [TYPES[name] for name in types]
    return lambda value: (
        ""
        if any(holds(value) for holds in all_hold)
        else f" must be {spoken}, not {_type_of(value)}"
    )


def _check_enum(schema: Schema) -> Check:
    options = (
        [schema["const"]] if "const" in schema and "enum" not in schema else list(schema["enum"])
    )
    spoken = ", ".join(repr(option) for option in options)[:500]
    return lambda value: (
        "" if any(same(value, option) for option in options) else f" must be one of {spoken}"
    )


def _check_const(schema: Schema) -> Check:
    return _check_enum({"const": schema["const"]})


def _check_any(schema: Schema) -> Check:
    options = [compile_schema(option) for option in schema["anyOf"]]

    def check(value: Json) -> str:
        faults: list[str] = []
        for option in options:
            faults.append(option(value))
            if not faults[-1]:
                return ""
        return (
            faults[0]
            if len(faults) == 1
            else f" fits none of {len(faults)} forms; the first: it{faults[0]}"
        )

    return check


def _check_items(schema: Schema) -> Check:
    each = compile_schema(schema["items"])

    def check(value: Json) -> str:
        if is_array(value):
            for place, item in enumerate(value):
                if fault := each(item):
                    return f"[{place}]{fault}"
        return ""

    return check


def _check_object(schema: Schema) -> Check:
    properties = {name: compile_schema(part) for name, part in schema.get("properties", {}).items()}
    required, rest = list(schema.get("required", ())), schema.get("additionalProperties", True)
    others = compile_schema(rest) if is_object(rest) else None

    def check(value: Json) -> str:
        if not is_object(value):
            return ""
        for name in required:
            if name not in value:
                return f" lacks the required {name!r}"
        for name, item in value.items():
            one = properties.get(name, others)
            if one is None:
                if rest is False:
                    return (
                        f" has no parameter {str(name)[:60]!r}; known: "
                        f"{', '.join(properties) or 'none'}"
                    )
            elif fault := one(item):
                return f".{str(name)[:60]}{fault}"
        return ""

    return check


def _bound(
    keyword: str, measures: Callable[[Json], Any], holds: Callable[[Any, Any], bool], words: str
) -> Callable[[Schema], Check]:
    def make(schema: Schema) -> Check:
        limit = schema[keyword]

        def check(value: Json) -> str:
            size = measures(value)
            return "" if size is None or holds(size, limit) else f" must {words.format(limit)}"

        return check

    return make


def _number(value: Json) -> Any:
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _length(value: Json) -> Any:
    return len(value) if isinstance(value, str) else None


def _count(value: Json) -> Any:
    return len(value) if is_array(value) else None


_CHECKS: dict[str, Callable[[Schema], Check]] = {
    "type": _check_type,
    "const": _check_const,
    "enum": _check_enum,
    "minLength": _bound(
        "minLength", _length, lambda size, limit: size >= limit, "have at least {} characters"
    ),
    "maxLength": _bound(
        "maxLength", _length, lambda size, limit: size <= limit, "have at most {} characters"
    ),
    "minItems": _bound(
        "minItems", _count, lambda size, limit: size >= limit, "have at least {} items"
    ),
    "maxItems": _bound(
        "maxItems", _count, lambda size, limit: size <= limit, "have at most {} items"
    ),
    "minimum": _bound("minimum", _number, lambda size, limit: size >= limit, "be at least {}"),
    "maximum": _bound("maximum", _number, lambda size, limit: size <= limit, "be at most {}"),
    "exclusiveMinimum": _bound(
        "exclusiveMinimum", _number, lambda size, limit: size > limit, "be more than {}"
    ),
    "exclusiveMaximum": _bound(
        "exclusiveMaximum", _number, lambda size, limit: size < limit, "be less than {}"
    ),
    "anyOf": _check_any,
    "items": _check_items,
}
"""Keywords that say something about a value alone, in the order they are tried."""


def _is_types(value: Json) -> bool:
    names: list[Json] = [value] if isinstance(value, str) else value if is_array(value) else []
    return (
        bool(names)
        and all(isinstance(name, str) and name in TYPES for name in names)
        and len(set(names)) == len(names)
    )


def _is_names(value: Json) -> bool:
    return is_array(value) and all(isinstance(name, str) for name in value)


def _is_size(value: Json) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_number(value: Json) -> bool:
    return TYPES["number"](value)


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


def _is_list(value: Json) -> bool:
    return is_array(value) and bool(value)


def _is_properties(value: Json) -> bool:
    return is_object(value)


KEYWORDS: dict[str, Callable[[Json], bool]] = {
    "type": _is_types,
    "enum": _is_list,
    "const": lambda _: True,
    "minLength": _is_size,
    "maxLength": _is_size,
    "minItems": _is_size,
    "maxItems": _is_size,
    "minimum": _is_number,
    "maximum": _is_number,
    "exclusiveMinimum": _is_number,
    "exclusiveMaximum": _is_number,
    "items": lambda value: isinstance(value, dict),
    "anyOf": _is_list,
    "properties": _is_properties,
    "required": _is_names,
    "additionalProperties": lambda value: isinstance(value, bool | dict),
    "title": _is_text,
    "description": _is_text,
    "default": lambda _: True,
}
"""The subset, and what each keyword may hold. The last three say something and check nothing."""
