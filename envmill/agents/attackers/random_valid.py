"""Makes valid calls at random."""

import random

from envmill.agents.attackers.arguments import sample_call
from envmill.agents.attackers.base import AttackerView, Mute
from schemas.environment import Call

_CALLS = 10


class RandomValid(Mute):
    """A verifier that pays it pays for luck."""

    name = "random_valid"
    does = "makes ten valid calls at random, and says that all is done"
    random = True

    def plan(self, view: AttackerView, seed: int) -> list[Call]:
        dice = random.Random(seed)
        return (
            [sample_call(dice.choice(view.tools), view.stock, dice) for _ in range(_CALLS)]
            if view.tools
            else []
        )
