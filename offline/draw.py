"""Draws arguments for an operation: likely ones, and ones from just outside what is allowed."""

import random
from datetime import timedelta

from offline.domain import (
    TODAY,
    Arguments,
    Domain,
    Number,
    Operation,
    OperationParameter,
    State,
    spread,
)
from offline.world import DomainWorld

NOWHERE = "nothing_ffffffff"


def sample_arguments(
    operation: Operation, world: DomainWorld, known: State, dice: random.Random, wild: float = 0.0
) -> Arguments:
    """One value per parameter; `known` holds the rows whose ids may be used, `wild` is the share of
    values that should be refused."""
    return {
        each.name: _sample(each, world.domain, known, dice, dice.random() < wild)
        for each in operation.takes
    }


def sample_permitted(
    operation: Operation, world: DomainWorld, known: State, dice: random.Random, tries: int = 40
) -> Arguments | None:
    """Arguments the domain allows, or none when none turned up."""
    for _ in range(tries):
        arguments = sample_arguments(operation, world, known, dice)
        if world.allows(operation, arguments):
            return arguments
    return None


def _sample(
    parameter: OperationParameter, domain: Domain, known: State, dice: random.Random, wild: bool
) -> str | Number:
    if parameter.row:
        return (
            NOWHERE if wild or not known[parameter.row] else dice.choice(list(known[parameter.row]))
        )
    if parameter.between:
        low, high = (domain.bound(each) for each in parameter.between)
        # One of a thing reads badly in a sentence ("for 1 days"), so a request starts at two where
        # it can.
        if wild:
            return dice.choice((low - 1, high + 1, low, high))
        if isinstance(parameter.step, float):
            return float(spread(low, high, parameter.step, dice.randrange(10**6)))
        return dice.randrange(int(max(low, min(2, high))), int(high) + 1, parameter.step)
    if parameter.day:
        return (
            "some day"
            if wild
            else (TODAY + timedelta(days=dice.randint(*parameter.day))).isoformat()
        )
    if parameter.text:
        return " " if wild else dice.choice(parameter.text)
    if parameter.one_of:
        return "something else" if wild else dice.choice(parameter.one_of)
    collection, attribute = parameter.find.split(".")
    rows = list(known[collection].values())
    return "qzx" if wild or not rows else dice.choice(rows)[attribute]
