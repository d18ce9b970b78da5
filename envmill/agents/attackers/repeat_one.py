"""Makes one call that changes something, again and again."""

import random

from envmill.agents.attackers.arguments import sample_call
from envmill.agents.attackers.base import AttackerView, Mute
from schemas.environment import Call

_TIMES = 3


class RepeatOne(Mute):
    """A verifier that pays it counts calls instead of ends."""

    name = "repeat_one_call"
    does = "makes one valid change again and again, and says that all is done"
    random = True

    def plan(self, view: AttackerView, seed: int) -> list[Call]:
        tools = view.list_tools("change") or list(view.tools)
        dice = random.Random(seed)
        # Another tool with every seed: luck alone would leave some out.
        return [sample_call(tools[seed % len(tools)], view.stock, dice)] * _TIMES if tools else []
