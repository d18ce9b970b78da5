"""How a repair ends: mostly the fault is mended, sometimes the failed version comes again,
sometimes another fault comes in its place."""

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Literal, TypeAlias

from envmill.recipes.drafting.weakening import find_weakening
from schemas.base import Contract

Ending: TypeAlias = Literal["mended", "unmended", "mended_wrongly"]

MENDED = 0.8
"""How often a repair mends the fault."""
UNMENDED = 0.12
"""How often it sends the failed version once more; what is left is mended wrongly."""


def end_repair(dice: random.Random) -> Ending:
    """How the repair of a faulty reply ends."""
    drawn = dice.random()
    if drawn < MENDED:
        return "mended"
    return "unmended" if drawn < MENDED + UNMENDED else "mended_wrongly"


def find_variant(talk: Sequence[str], write: Callable[[int], str]) -> int:
    """Which clean version is due: another one, by the number of complaints, once a clean one was
    complained about.

    `talk` is the conversation after the prompt: replies and complaints in turn. `write` gives the clean text of a variant.
    """
    variant = 0
    for complaints, reply in enumerate(talk[::2], 1):
        if reply == write(variant):
            variant = complaints
    return variant


def find_full(first: Contract, tried: Iterable[Contract]) -> Contract:
    """The first version that has as much in it as `first`; else the last."""
    one = first
    for one in tried:
        if not find_weakening(first, one, ()):
            break
    return one
