# pyright: basic, reportMissingImports=false
"""The tools of a scenario as inspect's: every parameter described, replies whole and in the words
of the factory."""

import json
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from inspect_ai.tool import ToolDef, ToolParam, ToolParams
from pydantic import ValidationError


def make_tool(
    tool: Mapping[str, Any], call: Callable[[str, dict[str, Any]], Awaitable[str]]
) -> ToolDef:
    """inspect refuses arguments that its part of the schema does not allow; the jail validates the
    rest."""
    name, told = tool["name"], tool["parameters"]

    async def execute(**kwargs: Any) -> str:
        return await call(name, kwargs)

    parameters = ToolParams(
        properties={
            parameter: describe(parameter, schema)
            for parameter, schema in told.get("properties", {}).items()
        },
        required=list(told.get("required", ())),
        additionalProperties=told.get("additionalProperties", True),
    )
    # inspect cuts the middle out of replies above 16 KB, unless it is told not to.
    return ToolDef(
        execute, name, tool.get("description") or f"Call {name}.", parameters, max_output=0
    )


def describe(name: str, schema: Mapping[str, Any]) -> ToolParam:
    """A parameter. What inspect's records cannot hold stands in the description as JSON Schema.
    inspect refuses one without description."""
    bare = {key: value for key, value in schema.items() if key != "description"}
    told = str(schema.get("description") or f"The {name}.")
    try:
        found = ToolParam.model_validate(bare)
    except ValidationError:
        found = ToolParam()
    if found.model_dump(exclude_none=True) != _drop_nothing(bare):
        told += f" JSON Schema: {json.dumps(bare, ensure_ascii=False, sort_keys=True)}"
    found.description = told
    return found


def _drop_nothing(value: Any) -> Any:
    """Without keys whose value is null, as inspect writes a schema."""
    if isinstance(value, dict):
        return {key: _drop_nothing(one) for key, one in value.items() if one is not None}
    return [_drop_nothing(one) for one in value] if isinstance(value, list) else value
