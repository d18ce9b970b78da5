"""A second source of faults, owing nothing to the catalogue: operators on the syntax trees of
programs and checks.

    source ──parse──► each place ──operator──► mutant ──jail, on drawn traces──► witness, or equivalent

Gates scored on the catalogue alone would be scored on faults that somebody had them in mind for.
"""

import ast
import random
from collections.abc import Iterable, Iterator

from offline.dice import make_dice
from offline.domain import TODAY, Operation
from offline.draw import sample_arguments
from offline.operators import conditions, statements, values
from offline.operators.base import Operator, ProgramMutant, find_sites, render
from offline.tests import RuleTrial
from offline.witness import Trace
from offline.world import DomainWorld
from schemas.environment import Call

__all__ = ["OPERATORS", "ProgramMutant", "list_mutants", "sample_mutants", "sample_traces"]

OPERATORS: dict[str, Operator] = {
    "comparison_flip": conditions.flip_comparison,
    "boundary": conditions.move_boundary,
    "negated_condition": conditions.negate_condition,
    "connective_swap": conditions.swap_connective,
    "dropped_operand": conditions.drop_operand,
    "quantifier_swap": conditions.swap_quantifier,
    "constant_change": values.change_constant,
    "arithmetic_swap": values.swap_arithmetic,
    "swapped_arguments": values.swap_arguments,
    "wrong_attribute": values.read_other_key,
    "removed_copy": values.remove_copy,
    "loop_bound": values.cut_loop,
    "dropped_filter": values.drop_filter,
    "dropped_statement": statements.drop_statement,
    "removed_raise": statements.remove_raise,
    "early_return": statements.return_early,
    "doubled_statement": statements.double_statement,
    "single_round": statements.lose_loop,
    "nothing_returned": statements.return_nothing,
    "ignored_condition": statements.ignore_condition,
}

WALKS = 8
LENGTH = 50
WILD = 0.12
"""Share of values in a walk that should be refused."""
NOTED = 3
"""How often the function in question is called for every call of another."""


def list_mutants(source: str, names: Iterable[str] = OPERATORS) -> Iterator[ProgramMutant]:
    """Every mutant of a program, operator by operator; no two have the same text."""
    tree, seen = ast.parse(source), {source}
    for site in (site for name in names for site in find_sites(name, OPERATORS[name], tree)):
        mutant = render(site, source)
        if mutant and mutant.source not in seen:
            seen.add(mutant.source)
            yield mutant


def sample_mutants(source: str, count: int, dice: random.Random) -> list[ProgramMutant]:
    """So many mutants, operators in turn, so that frequent places do not crowd out rare ones."""
    tree, drawn = ast.parse(source), dict[str, ProgramMutant]()
    queues = [find_sites(name, operator, tree) for name, operator in OPERATORS.items()]
    for queue in queues:
        dice.shuffle(queue)
    while len(drawn) < count and any(queues):
        for queue in filter(None, queues):
            mutant = render(queue.pop(), source)
            if mutant and len(drawn) < count:
                drawn.setdefault(mutant.source, mutant)
    return list(drawn.values())


def sample_traces(
    tried: tuple[DomainWorld, list[RuleTrial]], seed: int, function: str
) -> list[Trace]:
    """Calls that try one function: the trials of the domain model first, then walks that come by it
    often."""
    world, trials = tried
    tools = world.domain.operations
    aimed = [
        Trace(world.state, (*each.setup, each.call))
        for each in trials
        if function not in tools or each.call.name == function
    ]
    start = DomainWorld(world.domain, world.state, TODAY, f"walk/{seed}")
    name = world.domain.names[0]
    return aimed + [
        _walk(start, function, make_dice("walk", world.domain.theme, name, seed, function, each))
        for each in range(WALKS)
    ]


def _walk(start: DomainWorld, function: str, dice: random.Random) -> Trace:
    world, calls = start.copy(), list[Call]()
    operations = list(world.domain.operations.values())
    weights = [NOTED * len(operations) if each.name == function else 1 for each in operations]
    for _ in range(LENGTH):
        operation: Operation = dice.choices(operations, weights)[0]
        arguments = sample_arguments(operation, world, start.state, dice, WILD)
        if world.allows(operation, arguments):
            world.apply(operation, arguments)
        calls.append(Call(name=operation.name, arguments=arguments))
    return Trace(start.state, tuple(calls))
