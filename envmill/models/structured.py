"""A record's schema in the narrow dialect that vendors enforce while they decode.

Every object is closed and all its fields are required. What that cannot say (an object with keys of
the model's choice, any JSON value, a record inside itself) leaves the schema to the prompt, where
it stands in any case.
"""

from functools import lru_cache

from schemas.base import Contract, Json, canonical_json, is_array, is_object

_KEPT = ("type", "enum", "const", "description")
"""Bounds and formats are checked when the reply is read; vendors differ in which of them they
take."""
_PARTS = "#/$defs/"


class Inexpressible(ValueError):
    """The dialect has no words for a part of the schema."""


@lru_cache(maxsize=256)
def render_schema(record: type[Contract]) -> str:
    """The whole schema, as prompts show it. Made once: pydantic takes half a millisecond, as long
    as a third of a call."""
    return canonical_json(make_schema(record))


def make_schema(record: type[Contract]) -> Json:
    """A record's JSON schema. Its parts are filed under their titles and not under the names of
    their classes: the text is part of a
    call's key, and a class may be renamed when its title stays."""
    schema: Json = _leave_out(record.model_json_schema(), record.fenced)
    parts: dict[str, Json] = schema.get("$defs", {})
    titles = {
        f"{_PARTS}{name}": f"{_PARTS}{part.get('title', name)}" for name, part in parts.items()
    }
    if len({*titles.values()}) < len(parts):
        raise ValueError(
            f"Two parts of {record.__name__} have one title among {sorted(titles.values())}: give "
            "one of them another."
        )
    if all(name == title for name, title in titles.items()):
        return schema
    filed = {titles[f"{_PARTS}{name}"].removeprefix(_PARTS): part for name, part in parts.items()}
    return _replace_texts(schema | {"$defs": filed}, titles)


def _leave_out(schema: Json, name: str) -> Json:
    """Without the field that is written as a fenced block."""
    if not name:
        return schema
    kept = {field: part for field, part in schema["properties"].items() if field != name}
    return schema | {
        "properties": kept,
        "required": [field for field in schema.get("required", []) if field != name],
    }


def _replace_texts(value: Json, texts: dict[str, str]) -> Json:
    if is_object(value):
        return {key: _replace_texts(item, texts) for key, item in value.items()}
    if is_array(value):
        return [_replace_texts(item, texts) for item in value]
    return texts.get(value, value) if isinstance(value, str) else value


@lru_cache(maxsize=256)
def narrow(record: type[Contract]) -> Json | None:
    """The schema in the dialect, or None."""
    schema = make_schema(record)
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
