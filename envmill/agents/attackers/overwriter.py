"""Sets one row after another to values that exist: every change that names a row, on each row in
turn."""

import random

from envmill.agents.attackers.arguments import sample_call
from envmill.agents.attackers.base import AttackerView, Mute
from schemas.environment import Call

_MOST = 10


class Overwriter(Mute):
    """A verifier that pays it asks whether a value stands somewhere, not whether it stands where it
    was wanted."""

    name = "end_state_overwriter"
    does = "makes the same change on row after row, and says that all is done"
    random = True

    def plan(self, view: AttackerView, seed: int) -> list[Call]:
        dice = random.Random(seed)
        setters = view.list_tools("change")
        dice.shuffle(setters)
        calls: list[Call] = []
        for tool in setters:
            pointing = [
                (name, home)
                for name in tool.parameters.get("properties", {})
                if (home := view.stock.find_pointed(name))
            ]
            for name, home in pointing[:1]:
                drawn = sample_call(tool, view.stock, dice)
                rows = view.stock.offer_keys(home, tool.parameters["properties"][name])[
                    : _MOST - len(calls)
                ]
                calls += [
                    Call(name=tool.name, arguments=drawn.arguments | {name: key}, actor=drawn.actor)
                    for key in rows
                ]
            if len(calls) >= _MOST:
                break
        return calls
