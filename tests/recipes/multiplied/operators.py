"""Mutation operators over plans, programs, tests, states, paths, verifiers and texts: each with the
answer that it must get.

A fault is wrong by construction, and some check has to say so. An honest change leaves everything
as right as it was, and no check may say anything that it did not say before.
"""

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

Dice = random.Random
T = TypeVar("T")
SEED = 28
SOURCE, SCHEMA = "program.py", "schema.sql"


@dataclass(frozen=True)
class Operator:
    """One way to change an item; `change` gives every version that it can make, in an order of the
    dice."""

    part: str
    name: str
    honest: bool
    change: Callable[[Any, Dice], Iterator[Any]]


def shuffle(values: Sequence[T], dice: Dice) -> list[T]:
    """In another order, where there is one."""
    shuffled = list(values)
    dice.shuffle(shuffled)
    return shuffled if shuffled != list(values) else shuffled[::-1]
