"""Trial calls: as many of each tool as are wanted, some that the domain model allows and some that
break one rule."""

import random
from collections.abc import Iterator
from typing import TypeVar

from offline.dice import make_dice
from offline.domain import TODAY, Domain, Operation, State
from offline.draw import sample_arguments, sample_permitted
from offline.world import DomainWorld
from schemas.environment import Call
from schemas.prompts import TesterCall, TesterInput, TesterReply

Drawn = TypeVar("Drawn")

DRAWS = 12
"""Drawn per call that is wanted: rules deep in a life cycle are met seldom."""
BREAKING = 0.5
"""Share of calls that ought to be refused, where any were found."""


def write_calls(asked: TesterInput, domain: Domain, key: str) -> TesterReply:
    """Calls of every tool the domain knows; rules are broken in turn, so that few calls try many of
    them."""
    state: State = {name: asked.state.get(name, {}) for name in domain.collections}
    world = DomainWorld(domain, state, TODAY, key)
    dice = make_dice("trial calls", domain.theme, key, asked.round)
    calls = [
        call
        for name, count in asked.wanted.items()
        if name in domain.operations
        for call in _try(domain.operations[name], count, world, dice)
    ]
    return TesterReply(calls=calls)


def _try(
    operation: Operation, count: int, world: DomainWorld, dice: random.Random
) -> list[TesterCall]:
    fine = _drop_twins(_sample_fine(operation, count, world, dice))
    breaking = _take_in_turn(_drop_twins(_sample_breaking(operation, count * DRAWS, world, dice)))
    refused = breaking[: max(round(count * BREAKING), count - len(fine))]
    drawn = [*refused, *fine[: count - len(refused)]]
    # A tool with few possible calls has them tried again: what is wanted is a number of calls.
    return [drawn[number % len(drawn)] for number in range(count)] if drawn else []


def _sample_fine(
    operation: Operation, count: int, world: DomainWorld, dice: random.Random
) -> Iterator[TesterCall]:
    for _ in range(count):
        arguments = sample_permitted(operation, world, world.state, dice, DRAWS)
        if arguments is not None:
            yield TesterCall(
                call=Call(name=operation.name, arguments=arguments, actor=operation.actor),
                expect="success",
                why=f"An ordinary use: {operation.does}",
            )


def _sample_breaking(
    operation: Operation, tries: int, world: DomainWorld, dice: random.Random
) -> Iterator[tuple[str, TesterCall]]:
    told = {rule.code: world.domain.render_rule(rule) for rule in operation.must}
    for _ in range(tries if operation.takes else 0):
        arguments = sample_arguments(operation, world, world.state, dice, wild=0.15)
        codes = world.find_violations(operation, arguments)
        if len(codes) == 1:
            why = told.get(codes[0], f"This must be refused: {codes[0].replace('_', ' ')}.")
            yield (
                codes[0],
                TesterCall(
                    call=Call(name=operation.name, arguments=arguments, actor=operation.actor),
                    expect="rejection",
                    why=why,
                ),
            )


def _drop_twins(drawn: Iterator[Drawn]) -> list[Drawn]:
    return list({str(each): each for each in drawn}.values())


def _take_in_turn(drawn: list[tuple[str, TesterCall]]) -> list[TesterCall]:
    """One call of every rule first, then a second one of each."""
    seen: dict[str, int] = {}
    ranked: list[tuple[int, TesterCall]] = []
    for code, call in drawn:
        seen[code] = seen.get(code, 0) + 1
        ranked.append((seen[code], call))
    return [call for _, call in sorted(ranked, key=lambda each: each[0])]
