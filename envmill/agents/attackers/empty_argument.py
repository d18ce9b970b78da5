"""Calls every tool with nothing where something belongs."""

from collections.abc import Mapping, Sequence

from envmill.agents.attackers.arguments import first_type, list_choices
from envmill.agents.attackers.base import AttackerView
from envmill.sandbox import Observation
from schemas.base import Json
from schemas.environment import Call, Tool

_NOTHING: dict[str, Json] = {
    "string": "",
    "integer": 0,
    "number": 0,
    "boolean": False,
    "array": [],
    "object": {},
}


class EmptyArgument:
    """A verifier that pays it counts a call's name without looking at its arguments or its
    reply."""

    name = "empty_argument"
    does = "calls every tool with nothing where something belongs"
    random = False

    def plan(self, view: AttackerView, seed: int) -> list[Call]:  # noqa: ARG002
        return [_empty(tool) for tool in view.tools]

    def speak(self, view: AttackerView, seen: Sequence[Observation]) -> list[str]:  # noqa: ARG002
        return [""]


def _empty(tool: Tool) -> Call:
    schemas: dict[str, Json] = tool.parameters.get("properties", {})
    return Call(
        name=tool.name, arguments={name: _make_empty(schema) for name, schema in schemas.items()}
    )


def _make_empty(schema: Mapping[str, Json]) -> Json:
    choices = list_choices(schema)
    return choices[0] if choices else _NOTHING.get(first_type(schema))
