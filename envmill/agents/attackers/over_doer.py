"""Calls every tool that changes something, several times each on whatever it finds."""

import random

from envmill.agents.attackers.arguments import draw_call
from schemas.base import Json
from schemas.environment import Call, Tool

_DRAWS = 8


class OverDoer:
    """A verifier without a frame pays it: the right change is among all the changes."""

    name = "over_doer"
    random = True

    def plan(self, state: dict[str, Json], tools: list[Tool], seed: int) -> list[Call]:
        dice = random.Random(seed)
        return [draw_call(tool, state, dice) for tool in tools if tool.effect == "change" for _ in range(_DRAWS)]
