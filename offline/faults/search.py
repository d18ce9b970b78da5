"""Differential execution on the domain model: calls on which a rule as it was meant and as it is
now do not agree.

Both are asked on drawn calls, and on states edited so that both sides of a comparison are equal,
where limits are decided.
"""

import ast
import random
from collections.abc import Iterator
from itertools import islice
from typing import cast

from offline.domain import Arguments, Operation
from offline.draw import sample_arguments
from offline.formula import parse_expression
from offline.witness import Trace
from offline.world import DomainWorld
from schemas.environment import Call

DRAWS = 60
ENOUGH = 4
LETTERS = ("a", "e", "o", "r")
"""Parts of many names: a search for one of them finds several rows."""


def find_differences(
    clean: Operation, faulty: Operation, start: DomainWorld, dice: random.Random
) -> list[Trace]:
    """Calls that one of both operations allows and the other refuses."""
    return list(islice(_search(clean, faulty, start, dice), ENOUGH))


def _search(
    clean: Operation, faulty: Operation, start: DomainWorld, dice: random.Random
) -> Iterator[Trace]:
    for _ in range(DRAWS):
        arguments = sample_arguments(clean, start, start.state, dice, wild=0.2)
        for world in (start, *_edit_states(clean, arguments, start)):
            # One of them allows it and the other does not: which of several reasons is given first
            # shows nothing.
            if world.allows(clean, arguments) != world.allows(faulty, arguments):
                yield Trace(world.state, (Call(name=clean.name, arguments=arguments),))


def _edit_states(
    operation: Operation, arguments: Arguments, start: DomainWorld
) -> Iterator[DomainWorld]:
    """States in which a rule that compares a row's number with something finds both the same."""
    for rule in operation.must:
        match parse_expression(rule.that):
            case ast.Compare(
                left=ast.Attribute(value=ast.Name(id=owner), attr=name), comparators=[other]
            ):
                yield from _set_equal(operation, arguments, start, owner, name, other)
            case ast.Compare(
                left=other, comparators=[ast.Attribute(value=ast.Name(id=owner), attr=name)]
            ):
                yield from _set_equal(operation, arguments, start, owner, name, other)
            case _:
                pass


def _set_equal(
    operation: Operation,
    arguments: Arguments,
    start: DomainWorld,
    owner: str,
    name: str,
    other: ast.expr,
) -> Iterator[DomainWorld]:
    bound = {each.local: each for each in operation.takes if each.row}
    world = start.copy()
    try:
        rows = {local: world.state[each.row][arguments[each.name]] for local, each in bound.items()}
        value = world.value(other, {**world.domain.bounds, **arguments, **rows})
    except (KeyError, ValueError):
        # The row is unknown, or the rule speaks of what only the program's own lookups bind.
        return
    if (
        owner in rows
        and isinstance(value, int | float)
        and isinstance(rows[owner].get(name), int | float)
    ):
        rows[owner][name] = value
        yield world


def ask_widely(
    operation: Operation, start: DomainWorld, dice: random.Random, count: int
) -> list[Trace]:
    """Permitted calls of a query, those that find most rows first."""
    calls: list[tuple[int, Arguments]] = []
    for number in range(count):
        arguments = sample_arguments(operation, start, start.state, dice)
        if any(each.find for each in operation.takes) and number < len(LETTERS):
            arguments = {name: LETTERS[number] for name in arguments}
        if start.allows(operation, arguments):
            calls.append((_count_rows(operation, arguments, start), arguments))
    calls.sort(key=lambda each: -each[0])
    return [Trace(start.state, (Call(name=operation.name, arguments=each),)) for _, each in calls]


def _count_rows(operation: Operation, arguments: Arguments, start: DomainWorld) -> int:
    rows = {
        each.local: start.state[each.row][arguments[each.name]]
        for each in operation.takes
        if each.row
    }
    try:
        found: object = start.value(
            parse_expression(operation.gives), {**start.domain.bounds, **arguments, **rows}
        )
    except (KeyError, ValueError):
        return 0
    return len(cast(list[object], found)) if isinstance(found, list) else 0
