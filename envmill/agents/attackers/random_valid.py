"""Makes valid calls at random."""

import random

from envmill.agents.attackers.arguments import draw_call
from schemas.base import Json
from schemas.environment import Call, Tool

_CALLS = 12


class RandomValid:
    """A verifier that pays it, pays for luck."""

    name = "random_valid"
    random = True

    def plan(self, state: dict[str, Json], tools: list[Tool], seed: int) -> list[Call]:
        dice = random.Random(seed)
        return [draw_call(dice.choice(tools), state, dice) for _ in range(_CALLS)]
