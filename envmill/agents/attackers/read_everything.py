"""Calls every query with every key of the state it might take, up to a bound, and changes nothing."""

from envmill.agents.attackers.arguments import list_calls
from schemas.base import Json
from schemas.environment import Call, Tool

_MOST = 50


class ReadEverything:
    """A verifier that pays it, pays for looking busy."""

    name = "read_everything"
    random = False

    def plan(self, state: dict[str, Json], tools: list[Tool], seed: int) -> list[Call]:  # noqa: ARG002  nothing is left to chance
        return [call for tool in tools if tool.effect == "query" for call in list_calls(tool, state, _MOST)]
