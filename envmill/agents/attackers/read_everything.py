"""Calls every query with every key it might take, and changes nothing."""

import random

from envmill.agents.attackers.arguments import draw_call
from schemas.base import Json
from schemas.environment import Call, Tool

_DRAWS = 3


class ReadEverything:
    """A verifier that pays it, pays for looking busy."""

    name = "read_everything"
    random = False

    def plan(self, state: dict[str, Json], tools: list[Tool], seed: int) -> list[Call]:
        dice = random.Random(seed)
        return [draw_call(tool, state, dice) for tool in tools if tool.effect == "query" for _ in range(_DRAWS)]
