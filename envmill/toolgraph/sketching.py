"""Sketches of a built environment: its interface, its tables, and output types inferred from
observed replies."""

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
"""Boolean stands first, because a bool is an int in Python."""
ACTORS = ("agent", "user")
"""Actors that carry out the steps of a path."""
NO_KEYS: Mapping[str, str] = {}


def sketch_environment(
    environment: Environment,
    replies: Mapping[str, Sequence[Json]],
    actors: Collection[str] = ("agent",),
    keys: Mapping[str, str] = NO_KEYS,
) -> list[ToolSketch]:
    """Sketches of the tools that any of these actors may call. `replies`: observed replies of each
    tool; a tool that neither declares nor shows outputs supplies nothing. `keys`: keys of records,
    with their table."""
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
    """Entity of the rows that a tool declares as its reply. The tool's own name may describe only
    how they were found."""
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
    """Mark ids whose names are not their table's, such as a reviewer who is a row of `staff`, or
    the account that another account pays to."""
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
    """The table whose row the parameter selects: the table that columns of that name refer to. If
    there is none, the only table that the tool touches."""
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
    """An object or a list. Any other schema becomes the only property of an object."""
    if not schema or schema.get("type") in ("object", "array"):
        return schema
    return {"type": "object", "properties": {"value": schema}}


def infer_schema(values: Iterable[Json], keys: Mapping[str, str] = NO_KEYS) -> dict[str, Json]:
    """Schema that fits all values. If types differ, there is no type. A property is required if
    every object has it. A string is a table's key if all strings are."""
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
