"""Sessions made up by dice over the samples: valid calls of every actor, mistakes, passing time. The same number, the same session."""

import random
from typing import Any

from envmill.agents.attackers.arguments import sample_call
from envmill.sandbox import Advance, Invoke, Step
from schemas.environment import Call
from tests.samples import Sample

_PHRASES = (
    "2026-02",
    "2026-03-04",
    "18.50",
    "Ümit ß",
    "",
    "D1",
    "RAIL",
    "Milan",
    "novels",
    "x" * 50,
)


def draw_journey(sample: Sample, number: int, length: int = 12) -> list[Step]:
    """Steps after the reset."""
    dice = random.Random(f"{sample.name}/{number}")
    return [_draw_step(sample, dice) for _ in range(length)]


def _draw_step(sample: Sample, dice: random.Random) -> Step:
    if dice.random() < 0.1:
        return Advance(dice.choice([0, 0.25, 3600, 86400, 10**6]))
    tool = dice.choice(sample.program.tools)
    call = sample_call(tool, sample.state, dice)
    arguments = {name: _spoil(value, dice) for name, value in call.arguments.items()}
    actor = dice.choice(tool.actors) if dice.random() < 0.95 else "stranger"
    return Invoke(Call(name=tool.name, arguments=arguments, actor=actor))


def _spoil(value: Any, dice: random.Random) -> Any:
    """Now and then another value of the type, or of none."""
    roll = dice.random()
    if roll < 0.15 and isinstance(value, str):
        return dice.choice(_PHRASES)
    return dice.choice([None, -1, 2.0, True, [], {"a": 1}]) if roll < 0.03 else value
