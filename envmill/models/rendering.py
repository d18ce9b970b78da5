"""Inputs of a prompt as text: records without what is empty, tools as signatures, everything else
as JSON."""

from collections.abc import Iterator
from textwrap import indent
from typing import Any

from envmill.models.notation import render_fields, render_type
from schemas.base import Contract, Json, canonical_json, is_array, is_object
from schemas.environment import Tool, ToolPlan
from schemas.sketch import ToolSketch

AnyTool = Tool | ToolPlan | ToolSketch

_EMPTY: tuple[Json, ...] = (None, "", [], {}, False)


def render_slot(inputs: Contract, path: str) -> str:
    """The value of a slot, `brief` or `brief.outline.tools`; null where something on the way is
    missing."""
    value: Any = inputs
    for name in path.split("."):
        value = None if value is None else getattr(value, name)
    return render_value(value)


def render_value(value: Any) -> str:
    """A text as it is; a list of tools one below the other; JSON otherwise."""
    if isinstance(value, str):
        return value
    if is_array(value) and value and all(isinstance(item, AnyTool) for item in value):
        return indent(
            "\n".join(["", *(line for tool in value for line in _render_tool(tool))]), "  "
        )
    if isinstance(value, AnyTool):
        return "\n".join(_render_tool(value))
    return canonical_json(strip(value))


def strip(value: Any) -> Json:
    """Plain JSON. A record loses optional fields that are empty and those that are shown apart;
    data such as rows stays whole."""
    if isinstance(value, Contract):
        written = value.model_dump(mode="json")
        fields = {
            name: field
            for name, field in type(value).model_fields.items()
            if name in written and name not in value.aside
        }
        empty = {
            name
            for name, field in fields.items()
            if written[name] in _EMPTY and field.default == getattr(value, name)
        }
        return {name: strip(getattr(value, name)) for name in fields if name not in empty}
    if is_object(value):
        return {name: strip(item) for name, item in value.items()}
    return [strip(item) for item in value] if is_array(value) else value


def _render_tool(tool: AnyTool) -> Iterator[str]:
    """`- name(parameter: type) effect; tables` with what it does, then what each parameter means
    and what it replies."""
    takes = _order(tool.parameters if isinstance(tool, Tool) else getattr(tool, "inputs", None))
    fields = list(render_fields(_drop_words(takes))) if takes else []
    signature = (
        ""
        if takes is None or takes == {}
        else f"({', '.join(field.rstrip(',') for field in fields)})"
    )
    yield f"- {tool.name}{signature} {'; '.join(_list_traits(tool))}. {tool.description}"
    yield from (f"  {name}: {told}" for name, told in _list_words(takes, ""))
    if replies := getattr(tool, "outputs", None):
        yield f"  replies: {render_type(_order(replies), 1)}"


def _drop_words(schema: Json) -> Json:
    """A schema without descriptions, at any depth. A property of that name stays."""
    if is_array(schema):
        return [_drop_words(part) for part in schema]
    if not is_object(schema):
        return schema
    return {
        name: {key: _drop_words(value) for key, value in part.items()}
        if name == "properties" and is_object(part)
        else _drop_words(part)
        for name, part in schema.items()
        if name != "description" or not isinstance(part, str)
    }


def _list_words(schema: Json, place: str) -> Iterator[tuple[str, str]]:
    """What each parameter means, and each part of one: `players[].team`."""
    properties: Json = schema.get("properties") if is_object(schema) else None
    for name, part in properties.items() if is_object(properties) else ():
        if not is_object(part):
            continue
        if isinstance(told := part.get("description"), str) and told:
            yield f"{place}{name}", told
        yield from _list_words(part, f"{place}{name}.")
        yield from _list_words(part.get("items"), f"{place}{name}[].")


def _order(schema: Json) -> Json:
    """A schema whose required properties stand first, in the order of its list `required`, and the
    others by name. So a tool is shown the
    same before and after it was stored: the lake orders keys and keeps lists."""
    if is_array(schema):
        return [_order(part) for part in schema]
    if not is_object(schema):
        return schema
    parts: dict[str, Json] = {name: _order(part) for name, part in sorted(schema.items())}
    if is_object(properties := parts.get("properties")) and is_array(
        needed := parts.get("required")
    ):
        first = {name: properties[name] for name in needed if name in properties}
        parts["properties"] = first | {
            name: part for name, part in properties.items() if name not in first
        }
    return parts


def _list_traits(tool: AnyTool) -> Iterator[str]:
    yield tool.effect
    for verb in ("reads", "writes"):
        if tables := getattr(tool, verb, None):
            yield f"{verb} {', '.join(tables)}"
    if isinstance(tool, Tool) and tool.actors != ["agent"]:
        yield f"called by {' or '.join(tool.actors)}"
    for name in ("entity", "about", "told", "requires", "ensures"):
        if isinstance(tool, ToolSketch) and (value := getattr(tool, name)):
            yield f"{name} {value if isinstance(value, str) else canonical_json(value)}"
