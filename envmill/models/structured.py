"""A record's schema in the narrow dialect that vendors enforce while they decode.

Every object is closed and all its fields are required. What that cannot say (an object with keys of the model's choice, any JSON
value, a record inside itself) leaves the schema to the prompt, where it stands in any case.
"""

from functools import lru_cache

from schemas.base import Contract, Json, canonical_json, is_array, is_object

_KEPT = ("type", "enum", "const", "description")
"""Bounds and formats are checked when the reply is read; vendors differ in which of them they take."""


class Inexpressible(ValueError):
    """The dialect has no words for a part of the schema."""


@lru_cache(maxsize=256)
def spell_schema(record: type[Contract]) -> str:
    """The whole schema, as prompts show it. Made once: pydantic takes half a millisecond, as long as a third of a call."""
    return canonical_json(record.model_json_schema())


@lru_cache(maxsize=256)
def narrow(record: type[Contract]) -> Json | None:
    """The schema in the dialect, or None."""
    schema: Json = record.model_json_schema()
    try:
        return _narrow(schema, schema.get("$defs", {}), ())
    except Inexpressible:
        return None


def _narrow(schema: Json, named: dict[str, Json], inside: tuple[str, ...]) -> Json:
    if reference := schema.get("$ref"):
        name = str(reference).rsplit("/", 1)[-1]
        if name in inside:
            raise Inexpressible(name)
        return _narrow(named[name], named, (*inside, name))
    if is_array(options := schema.get("anyOf") or schema.get("oneOf")):
        return {"anyOf": [_narrow(option, named, inside) for option in options]}
    if not schema.keys() & {"type", "enum", "const"}:
        raise Inexpressible("any value")
    kept = {word: schema[word] for word in _KEPT if word in schema}
    if schema.get("type") == "object":
        return kept | _close(schema, named, inside)
    if schema.get("type") == "array":
        return kept | {"items": _narrow(schema.get("items", {}), named, inside)}
    return kept


def _close(schema: Json, named: dict[str, Json], inside: tuple[str, ...]) -> Json:
    fields = schema.get("properties")
    if not is_object(fields) or not fields or schema.get("additionalProperties"):
        raise Inexpressible("open object")
    narrowed = {name: _narrow(part, named, inside) for name, part in fields.items()}
    return {"properties": narrowed, "required": list(narrowed), "additionalProperties": False}
