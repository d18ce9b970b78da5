# pyright: basic
"""A tool as a Python method: transformers reads an interface from type hints and Google docstrings,
and from nothing else."""

import inspect
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeAlias, Union

Schema: TypeAlias = Mapping[str, Any]

_TYPES = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
    "null": type(None),
    "object": dict,
    "array": list,
}
_SECTION = re.compile(r"\b(Args|Returns|Raises):")
"""What begins another section of a docstring."""
_CHOICES = re.compile(r"\(choices:\s*(.*?)\)\s*$", re.IGNORECASE)
"""What transformers reads an enumeration from."""


def sign(tool: Schema, call: Callable[[Any, str, dict[str, Any]], str]) -> Callable[..., str]:
    """A method for the tool. It takes whatever a model writes: the jail validates it, and refuses
    it in its own words."""
    name, properties = tool["name"], tool["parameters"].get("properties", {})
    required = tool["parameters"].get("required", ())

    def method(self: Any, /, **arguments: Any) -> str:
        return call(self, name, arguments)

    hints = {parameter: read_hint(schema) for parameter, schema in properties.items()}
    asked = [
        inspect.Parameter(
            parameter,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=hint,
            default=inspect.Parameter.empty
            if parameter in required
            else properties[parameter].get("default"),
        )
        for parameter, hint in hints.items()
    ]
    method.__name__ = method.__qualname__ = name
    method.__doc__ = document(tool)
    # No hint of what it returns: transformers would write it into the schema, and no model was ever
    # shown that.
    method.__annotations__ = hints
    itself = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    method.__signature__ = inspect.Signature([itself, *asked])  # type: ignore[attr-defined]
    return method


def document(tool: Schema) -> str:
    """The docstring: what the tool does, and a line for each parameter."""
    lines = [_defuse(str(tool.get("description") or "").strip() or f"Call {tool['name']}.")]
    described = [
        f"    {name}: {_describe(name, schema)}"
        for name, schema in tool["parameters"].get("properties", {}).items()
    ]
    if described:
        lines += ["", "Args:", *described]
    return "\n".join(lines)


def read_hint(schema: Any) -> Any:
    """The type hint that says most of a schema."""
    schema = schema if isinstance(schema, Mapping) else {}
    if values := _list_values(schema):
        return Literal[tuple(values)]
    if options := schema.get("anyOf"):
        return Union[tuple(read_hint(option) for option in options)]  # noqa: UP007  made at run time
    named = schema.get("type", [])
    hints = [_read_one(name, schema) for name in ([named] if isinstance(named, str) else named)]
    return Union[tuple(hints)] if hints else Any  # noqa: UP007  made at run time


def _read_one(name: str, schema: Schema) -> Any:
    if name == "array" and "items" in schema:
        return list[read_hint(schema["items"])]
    others = schema.get("additionalProperties")
    if name == "object" and isinstance(others, Mapping) and not schema.get("properties"):
        return dict[str, read_hint(others)]
    return _TYPES[name]


def _list_values(schema: Schema) -> list[Any]:
    """Values of an enumeration that type hints can express."""
    values = [schema["const"]] if "const" in schema else schema.get("enum", [])
    return (
        values
        if all(isinstance(value, str | int | bool) or value is None for value in values)
        else []
    )


def _describe(name: str, schema: Schema) -> str:
    """In one line. What no hint can say of the values stands there as JSON Schema."""
    told = " ".join(str(schema.get("description") or f"The {name}.").split())
    if not _is_hinted(schema):
        bare = {key: value for key, value in schema.items() if key != "description"}
        told += f" JSON Schema: {json.dumps(bare, ensure_ascii=False, sort_keys=True)}"
    told = _defuse(told)
    return f"{told}." if _CHOICES.search(told) else told


def _is_hinted(schema: Any) -> bool:
    """Whether the hint says all of it. That an object takes no other parameters is said nowhere,
    and refused in the jail."""
    if not isinstance(schema, Mapping):
        return True
    said = {"type", "description", "title", "default", "items", "anyOf", "additionalProperties"}
    choices = {"enum", "const"} if _list_values(schema) else set[str]()
    inner = [schema.get("items"), *schema.get("anyOf", ())]
    others = schema.get("additionalProperties")
    if isinstance(others, Mapping):
        inner.append(others)
    named = schema.get("type")
    mixed = (
        isinstance(named, list)
        and "null" not in named
        and len(named) > 1
        and bool({"array", "object"} & {*named})
    )
    return set(schema) <= said | choices and not mixed and all(map(_is_hinted, inner))


def _defuse(text: str) -> str:
    """A text that begins no section."""
    return _SECTION.sub(r"\1 -", text)
