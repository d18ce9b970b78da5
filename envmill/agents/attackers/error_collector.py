"""Calls every tool with what does not exist, and recites the reasons it is refused for."""

from collections.abc import Mapping, Sequence

from envmill.agents.attackers.arguments import first_type, list_choices
from envmill.agents.attackers.base import AttackerView
from envmill.sandbox import Observation
from schemas.base import Json
from schemas.environment import Call

_WRONG: dict[str, Json] = {
    "string": "no-such-thing",
    "integer": -1,
    "number": -1.5,
    "boolean": True,
    "array": [],
    "object": {},
}


class ErrorCollector:
    """A verifier that pays it takes a refused call for a made one, or an error's words for an
    answer."""

    name = "error_collector"
    does = "calls every tool with what does not exist, and recites the refusals"
    random = False

    def plan(self, view: AttackerView, seed: int) -> list[Call]:  # noqa: ARG002
        return [
            Call(
                name=tool.name,
                arguments={
                    name: _make_wrong(schema)
                    for name, schema in tool.parameters.get("properties", {}).items()
                },
            )
            for tool in view.tools
        ]

    def speak(self, view: AttackerView, seen: Sequence[Observation]) -> list[str]:  # noqa: ARG002
        return ["\n".join(f"{one.code}: {one.message}" for one in seen if one.message)]


def _make_wrong(schema: Mapping[str, Json]) -> Json:
    choices = list_choices(schema)
    return choices[-1] if choices else _WRONG.get(first_type(schema))
