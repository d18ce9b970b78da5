"""Sketches of a built environment: its interface, its tables, and for outputs what its tools were
seen to reply."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from envmill.toolgraph.parameters import KEY_OF
from envmill.toolgraph.words import split_name
from schemas.base import Json, is_array, is_object
from schemas.database import Table
from schemas.environment import Environment, Tool
from schemas.sketch import ToolSketch

_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
)
"""In this order: a truth value is an int in Python."""
ACTORS = ("agent", "user")
"""Who carries out the steps of a path."""
NO_KEYS: Mapping[str, str] = {}


def sketch_environment(
    environment: Environment,
    replies: Mapping[str, Sequence[Json]],
    actors: Collection[str] = ("agent",),
    keys: Mapping[str, str] = NO_KEYS,
) -> list[ToolSketch]:
    """What any of these actors may call. `replies`: values that tools were seen to answer; one that
    neither says nor shows any gives
    nothing on. `keys`: of records, with their table."""
    return [
        ToolSketch(
            name=tool.name,
            description=tool.description,
            service=environment.name,
            entity=_find_entity(tool.outputs, environment.tables),
            effect=tool.effect,
            inputs=_mark_keys(tool.parameters, tool, environment.tables),
            outputs=_mark_keys(
                _open(tool.outputs or infer_schema(replies.get(tool.name, ()), keys)),
                tool,
                environment.tables,
            ),
            reads=tool.reads,
            writes=tool.writes,
            licence=environment.licence,
            source="environment",
        )
        for tool in environment.tools
        if not set(actors).isdisjoint(tool.actors)
    ]


def _find_entity(outputs: Json, tables: Sequence[Table]) -> str:
    """What rows a tool says that it replies are of: its own name may be about how they were
    found."""
    row = outputs.get("items", outputs)
    names = set(row.get("properties", {}))
    return next(
        (
            "_".join(split_name(one.name))
            for one in tables
            if names and names == {column.name for column in one.columns}
        ),
        "",
    )


def _mark_keys(schema: Json, tool: Tool, tables: Sequence[Table]) -> Json:
    """Ids under other names than their table's: of a reviewer who stands in `staff`, of the account
    that another one pays to."""
    if is_array(schema):
        return [_mark_keys(one, tool, tables) for one in schema]
    if not is_object(schema):
        return schema
    marked = {name: _mark_keys(part, tool, tables) for name, part in schema.items()}
    if is_object(properties := marked.get("properties")):
        keys = {
            name: table
            for name, part in properties.items()
            if is_object(part) and (table := _find_key(name, tool, tables))
        }
        marked["properties"] = properties | {
            name: properties[name] | {KEY_OF: table} for name, table in keys.items()
        }
    return marked


def _find_key(name: str, tool: Tool, tables: Sequence[Table]) -> str:
    """The table whose row it selects: what columns of that name refer to; for what has no table,
    the only one that the tool touches."""
    words = split_name(name)
    if (
        words[-1:] != ("id",)
        or len(words) == 1
        or words[:-1] in {split_name(one.name) for one in tables}
    ):
        return ""
    places = {
        one.references.partition(".")[0]
        for table in tables
        for one in table.columns
        if one.name == name and one.references
    }
    touched = {*tool.reads, *tool.writes}
    found = places or touched
    return found.pop() if len(found) == 1 else ""


def _open(schema: dict[str, Json]) -> dict[str, Json]:
    """An object or a list; what is neither is the only value of an object."""
    if not schema or schema.get("type") in ("object", "array"):
        return schema
    return {"type": "object", "properties": {"value": schema}}


def infer_schema(values: Iterable[Json], keys: Mapping[str, str] = NO_KEYS) -> dict[str, Json]:
    """What all of some values are. A type that differs is none; a property is required when no
    object lacks it; a text is the key of a
    table when all of them are."""
    seen = [value for value in values if value is not None]
    types = {_name_type(value) for value in seen}
    if types == {"integer", "number"}:
        return {"type": "number"}
    if len(types) != 1:
        return {}
    (type,) = types
    return {"type": type} | dict(_infer_parts(type, seen, keys))


def _name_type(value: Json) -> str:
    if is_object(value):
        return "object"
    return (
        "array"
        if is_array(value)
        else next((name for kind, name in _TYPES if isinstance(value, kind)), "")
    )


def _infer_parts(
    type: str, seen: Sequence[Json], keys: Mapping[str, str]
) -> Iterator[tuple[str, Json]]:
    if (
        type == "string"
        and len(tables := {keys.get(value) for value in seen}) == 1
        and (table := tables.pop())
    ):
        yield KEY_OF, table
    elif type == "array":
        yield "items", infer_schema((item for value in seen for item in value), keys)
    elif type == "object":
        names = list(dict.fromkeys(name for value in seen for name in value))
        yield (
            "properties",
            {
                name: infer_schema((value[name] for value in seen if name in value), keys)
                for name in names
            },
        )
        yield "required", [name for name in names if all(name in value for value in seen)]
