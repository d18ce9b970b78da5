"""Calls as an author writes them: a list, so that the words `name` and `arguments` are not written
with each. Objects are read as well.

["lend_tool", {"tool_id": "tool_1"}] ◄─► {"name": "lend_tool", "arguments": {"tool_id": "tool_1"}}
"""

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, PlainSerializer, WithJsonSchema

from schemas.base import Json, is_array
from schemas.environment import Call
from schemas.scenario import CallPattern

_AGENT = "agent"
LISTED: dict[str, Any] = {"type": "array", "prefixItems": [{"type": "string"}, {"type": "object"}]}
"""What authors are shown. A third entry names who calls, if it is not the agent."""
_ANY_CALL: dict[str, Any] = LISTED | {"minItems": 1}
"""The same where the arguments may be left out."""


def read_call(value: Json) -> Json:
    """A call by the names of its fields. One that is written so already stays as it is."""
    if not is_array(value):
        return value
    if not 1 <= len(value) <= 3:
        raise ValueError(
            'a call is a list of its tool and its arguments: ["lend_tool", {"tool_id": "tool_1"}]'
        )
    return dict(zip(("name", "arguments", "actor"), value, strict=False))


def write_call(call: Call | CallPattern) -> Json:
    """As a list; with the names of fields where a later call uses its result."""
    written: dict[str, Json] = call.model_dump(mode="json")
    if written.keys() != {"name", "arguments", "actor"}:
        return written
    arguments, actor = call.arguments, call.actor
    return (
        [call.name, arguments, actor]
        if actor != _AGENT
        else [call.name, arguments]
        if arguments
        else [call.name]
    )


WrittenCall: TypeAlias = Annotated[
    Call, BeforeValidator(read_call), PlainSerializer(write_call), WithJsonSchema(LISTED)
]
"""A call of a setup, or of a reference path."""
WrittenPattern: TypeAlias = Annotated[
    CallPattern, BeforeValidator(read_call), PlainSerializer(write_call), WithJsonSchema(_ANY_CALL)
]
"""Calls that would be wrong to make; without arguments, every call of the tool."""
