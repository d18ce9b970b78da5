"""Calls every tool that changes something, several times each on whatever it finds."""

import random

from envmill.agents.attackers.arguments import sample_call
from envmill.agents.attackers.base import AttackerView, Mute
from schemas.environment import Call

_DRAWS = 2
_MOST = 12
"""Calls of one attack: tools beyond it get their turn with another seed."""


class OverDoer(Mute):
    """A verifier without a frame pays it: the right change is among all the changes."""

    name = "over_doer"
    does = (
        "calls every tool that changes something, on whatever it finds, and says that all is done"
    )
    random = True

    def plan(self, view: AttackerView, seed: int) -> list[Call]:
        dice = random.Random(seed)
        tools = view.list_tools("change") * _DRAWS
        dice.shuffle(tools)
        return [sample_call(tool, view.stock, dice) for tool in tools[:_MOST]]
