"""JSON Schema in the short notation that prompts show: `{name: string, note?: string}` takes a
third of the tokens and says the same.

required ─► `name`, optional ─► `name?`, default ─► `= 1`, enum ─► `"a" | "b"`, list ─► `T[]`, tuple ─► `[T, U?]`, map ─► `{[key]: T}`,
words ─► `// …`
"""

from collections.abc import Iterator
from functools import lru_cache

from envmill.models.structured import make_schema
from schemas.base import Contract, Json, canonical_json, is_array, is_object

_BOUNDS = (
    "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern", "format",
    "minItems", "maxItems", "uniqueItems",
)  # fmt: skip
_SHORT = 100
"""Characters of an object without descriptions that still stands on one line."""
_EMPTY: tuple[Json, ...] = (None, "", [], {})


@lru_cache(maxsize=256)
def render_reply(record: type[Contract]) -> str:
    """The type of a reply, its parts by name behind it."""
    schema = make_schema(record)
    parts = [f"{name} = {render_type(part)}" for name, part in schema.get("$defs", {}).items()]
    return "\n".join([render_type(schema), *parts])


def render_type(schema: Json, depth: int = 0) -> str:
    """One schema. Bounds and formats stand in brackets behind the type."""
    if not is_object(schema):
        return "any"
    if reference := schema.get("$ref"):
        return str(reference).rsplit("/", 1)[-1]
    if "const" in schema:
        return canonical_json(schema["const"])
    if is_array(values := schema.get("enum")):
        return " | ".join(map(canonical_json, values))
    if is_array(options := schema.get("anyOf") or schema.get("oneOf")):
        return " | ".join(render_type(option, depth) for option in options)
    if is_array(kinds := schema.get("type")):
        return " | ".join(render_type(schema | {"type": kind}, depth) for kind in kinds)
    return _render_plain(schema, depth) + _render_bounds(schema)


def _render_plain(schema: dict[str, Json], depth: int) -> str:
    kind = schema.get("type")
    if is_array(places := schema.get("prefixItems")):
        needed = schema.get("minItems", len(places))
        marks = ["" if index < needed else "?" for index in range(len(places))]
        return f"[{', '.join(render_type(place, depth) + mark for place, mark in zip(places, marks, strict=True))}]"
    if kind == "array":
        item = render_type(schema.get("items"), depth)
        return f"({item})[]" if " | " in item else f"{item}[]"
    if kind == "object" or "properties" in schema:
        return _render_object(schema, depth)
    return str(kind or "any")


def _render_object(schema: dict[str, Json], depth: int) -> str:
    more = schema.get("additionalProperties")
    if not schema.get("properties"):
        return (
            f"{{[key]: {render_type(more, depth)}}}"
            if is_object(more)
            else "{}"
            if more is False
            else "object"
        )
    fields = list(render_fields(schema, depth + 1))
    if (
        not any("//" in field or "\n" in field for field in fields)
        and len(line := ", ".join(field.rstrip(",") for field in fields)) <= _SHORT
    ):
        return f"{{{line}}}"
    margin = "  " * depth
    return "\n".join(["{", *(f"{margin}  {field}" for field in fields), f"{margin}}}"])


def render_fields(schema: Json, depth: int = 0) -> Iterator[str]:
    """Each property of an object: `name?: type = default,  // description`. A comma ends each, so
    that they can stand on lines."""
    required: list[str] = schema.get("required") or []
    properties: dict[str, Json] = schema.get("properties") or {}
    for name, part in properties.items():
        optional = "" if name in required or "const" in part else "?"
        default = (
            ""
            if (value := part.get("default")) in _EMPTY or "const" in part
            else f" = {canonical_json(value)}"
        )
        told = (
            f"  // {part['description']}" if part.get("description") and "const" not in part else ""
        )
        yield f"{name}{optional}: {render_type(part, depth)}{default},{told}"


def _render_bounds(schema: dict[str, Json]) -> str:
    # Of a tuple, `?` behind a place says how many are needed.
    bounds = [
        bound
        for bound in _BOUNDS
        if bound in schema and (bound != "minItems" or "prefixItems" not in schema)
    ]
    told = [f"{bound} {canonical_json(schema[bound])}" for bound in bounds]
    return f" ({', '.join(told)})" if told else ""
