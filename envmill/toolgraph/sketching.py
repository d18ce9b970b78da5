"""Sketches of a built environment: its interface, its tables, and for outputs what its tools were seen to reply."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from envmill.toolgraph.references import walk_nodes
from envmill.toolgraph.words import split_name
from schemas.base import Json, is_array, is_object
from schemas.chain import Chain, Loop, Step
from schemas.database import Table
from schemas.environment import Environment
from schemas.sketch import ToolSketch

_ITEMS = "items"
"""What a list is called where it is the whole reply."""
_TYPES: tuple[tuple[type, str], ...] = ((bool, "boolean"), (int, "integer"), (float, "number"), (str, "string"))
"""In this order: a truth value is an int in Python."""


def sketch_environment(environment: Environment, replies: Mapping[str, Sequence[Json]], actor: str = "agent") -> list[ToolSketch]:
    """What one actor may call. `replies`: values that tools were seen to answer; one that neither says nor shows any gives nothing on."""
    return [
        ToolSketch(
            name=tool.name,
            description=tool.description,
            service=environment.name,
            entity=_find_entity(tool.outputs, environment.tables),
            effect=tool.effect,
            inputs=tool.parameters,
            outputs=_open(tool.outputs or infer_schema(replies.get(tool.name, ()))),
            reads=tool.reads,
            writes=tool.writes,
            licence=environment.licence,
            source="environment",
        )
        for tool in environment.tools
        if actor in tool.actors
    ]


def _find_entity(outputs: Json, tables: Sequence[Table]) -> str:
    """What rows a tool says that it replies are of: its own name may be about how they were found."""
    row = outputs.get("items", outputs)
    names = set(row.get("properties", {}))
    return next(("_".join(split_name(one.name)) for one in tables if names and names == {column.name for column in one.columns}), "")


def _open(schema: dict[str, Json]) -> dict[str, Json]:
    """An object; what is none is the only value of one, as for documents."""
    if not schema or schema.get("type") == "object":
        return schema
    return {"type": "object", "properties": {_ITEMS if schema.get("type") == "array" else "value": schema}}


def open_chain(chain: Chain) -> Chain:
    """A chain with paths as the graph has them: what is no object is the only value of one there."""
    return Chain.model_validate(_spell(chain.model_dump(), lambda _, path: f"{_ITEMS}{path}" if path.startswith("[]") else path))


def close_chain(chain: Chain, environment: Environment) -> Chain:
    """A chain of the graph with paths as replies have them."""
    bare = {tool.name for tool in environment.tools if tool.outputs.get("type") == "array"}
    lists = {one.node.id for one in walk_nodes(chain.nodes) if isinstance(one.node, Step) and one.node.tool in bare}
    lists |= {one.node.id for one in walk_nodes(chain.nodes) if isinstance(one.node, Loop) and one.node.over.node in lists}
    whole = f"{_ITEMS}[]"
    return Chain.model_validate(
        _spell(chain.model_dump(), lambda name, path: path.removeprefix(_ITEMS) if name in lists and path.startswith(whole) else path)
    )


def _spell(value: Json, change: Callable[[str, str], str]) -> Json:
    if is_array(value):
        return [_spell(one, change) for one in value]
    if not is_object(value):
        return value
    told = {name: _spell(one, change) for name, one in value.items()}
    if value.get("kind") in ("node", "item") and "path" in value:
        told["path"] = change(value.get("node") or value.get("loop") or "", value["path"])
    return told


def infer_schema(values: Iterable[Json]) -> dict[str, Json]:
    """What all of some values are. A type that differs is none; a property is required when no object lacks it."""
    seen = [value for value in values if value is not None]
    types = {_name_type(value) for value in seen}
    if types == {"integer", "number"}:
        return {"type": "number"}
    if len(types) != 1:
        return {}
    (type,) = types
    return {"type": type} | dict(_infer_parts(type, seen))


def _name_type(value: Json) -> str:
    if is_object(value):
        return "object"
    return "array" if is_array(value) else next((name for kind, name in _TYPES if isinstance(value, kind)), "")


def _infer_parts(type: str, seen: Sequence[Json]) -> Iterator[tuple[str, Json]]:
    if type == "array":
        yield "items", infer_schema(item for value in seen for item in value)
    elif type == "object":
        names = list(dict.fromkeys(name for value in seen for name in value))
        yield "properties", {name: infer_schema(value[name] for value in seen if name in value) for name in names}
        yield "required", [name for name in names if all(name in value for value in seen)]
