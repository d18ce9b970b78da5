"""The careless policy: plays the oracle, and by seed skips a call or mixes up an argument.
Plumbing, not difficulty."""

import random

from envmill.agents.base import Actor
from envmill.agents.reference import script
from schemas.base import Json, is_object
from schemas.environment import Call, Environment
from schemas.scenario import Scenario

_SLIP = 0.16
_MOST_SLIPS = 0.7
"""Of a path, on average: one of twenty calls would hardly ever be walked to its end otherwise, and
none of its length ever be solved."""


class Careless:
    """Each call is a chance to slip, a smaller one on a long path."""

    name = "careless"

    def begin(self, scenario: Scenario, environment: Environment, seed: int) -> Actor:  # noqa: ARG002
        dice = random.Random(f"{scenario.id}/{seed}")
        made: list[list[Call]] = []
        slip = min(_SLIP, _MOST_SLIPS / max(1, len(scenario.oracle)))
        for call in scenario.oracle:
            fate = dice.random() / slip
            made.append(
                [mix_up(call, scenario.initial_state, dice) if fate < 1 else call]
                if fate >= 0.5
                else []
            )
        return script(scenario, made)


def mix_up(call: Call, state: dict[str, Json], dice: random.Random) -> Call:
    """The same call with one key exchanged for another row's."""
    swaps = [
        (name, other)
        for name, value in sorted(call.arguments.items())
        for rows in (state[key] for key in sorted(state))
        if is_object(rows) and isinstance(value, str) and value in rows
        for other in sorted(rows)
        if other != value
    ]
    if not swaps:
        return call
    name, other = dice.choice(swaps)
    return call.model_copy(update={"arguments": call.arguments | {name: other}})
