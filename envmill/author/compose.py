"""Cuts one variation out of a domain: which features, optional rules and queries take part, and how high the limits are.

domain in full ──features──► ──options──► ──limits──► variation (theme, number, seed)
"""

from collections.abc import Iterable
from dataclasses import replace
from functools import cache, lru_cache
from itertools import combinations
from string import Formatter
from typing import Protocol, TypeVar

from envmill.author.dice import make_dice
from envmill.author.domain import Collection, Domain, Move, Operation, Rule, Step
from envmill.author.knowledge import load_domain
from schemas.seed import Brief

COLLECTIONS = range(3, 6)
OPERATIONS = range(8, 15)


class Featured(Protocol):
    """Anything that may hang on a feature."""

    @property
    def feature(self) -> str:
        """Feature it belongs to; empty means always there."""
        ...


Part = TypeVar("Part", bound=Featured)


def compose_domain(brief: Brief, seed: int) -> Domain:
    """The variation a brief asks for; the same brief and seed give the same one."""
    return _compose(brief.theme, brief.number, seed)


@lru_cache(maxsize=256)
def _compose(theme: str, number: int, seed: int) -> Domain:
    choices = list(_list_choices(theme))
    make_dice("features", theme, seed).shuffle(choices)
    # Walking a shuffled list instead of drawing: neighbours in number never share their features.
    return _settle(_cut(load_domain(theme), choices[number % len(choices)]), number, seed)


@cache
def _list_choices(theme: str) -> tuple[tuple[str, ...], ...]:
    """Every set of features that makes an environment of the right size."""
    whole = load_domain(theme)
    sets = (each for size in range(len(whole.features) + 1) for each in combinations(whole.features, size))
    return tuple(each for each in sets if _fits(_cut(whole, each)))


def _fits(domain: Domain) -> bool:
    return len(domain.collections) in COLLECTIONS and sum(not each.optional for each in domain.operations.values()) in OPERATIONS


def _cut(whole: Domain, features: Iterable[str]) -> Domain:
    chosen = set(features)
    return replace(
        whole,
        features={name: text for name, text in whole.features.items() if name in chosen},
        collections={name: _cut_collection(each, chosen) for name, each in _keep_named(whole.collections, chosen).items()},
        operations={name: _cut_operation(name, each, chosen) for name, each in _keep_named(whole.operations, chosen).items()},
    )


def _keep(parts: Iterable[Part], chosen: set[str]) -> tuple[Part, ...]:
    return tuple(each for each in parts if not each.feature or each.feature in chosen)


def _keep_named(parts: dict[str, Part], chosen: set[str]) -> dict[str, Part]:
    return {name: each for name, each in parts.items() if not each.feature or each.feature in chosen}


def _cut_collection(collection: Collection, chosen: set[str]) -> Collection:
    return replace(collection, attributes=_keep_named(collection.attributes, chosen))


def _cut_operation(name: str, operation: Operation, chosen: set[str]) -> Operation:
    return replace(
        operation,
        name=name,
        takes=_keep(operation.takes, chosen),
        fetch=_keep(operation.fetch, chosen),
        must=_keep(operation.must, chosen),
        moves=_keep(operation.moves, chosen),
        then=_keep(operation.then, chosen),
        asks=tuple(each for each in operation.asks if _says_all(each, operation, chosen)),
        tells=tuple(each for each in operation.tells if _says_all(each, operation, chosen)),
    )


def _says_all(phrase: str, operation: Operation, chosen: set[str]) -> bool:
    """Whether a phrase mentions every parameter and nothing else: what is not said cannot be asked for."""
    said = {field.split(".")[0] for _, field, _, _ in Formatter().parse(phrase) if field}
    return said == {each.local for each in _keep(operation.takes, chosen)}


def _settle(domain: Domain, number: int, seed: int) -> Domain:
    """Draw what is left open: options, limits, title, id prefixes; life cycles become rules and steps."""
    dice = make_dice("settle", domain.theme, number, seed)
    optional = [name for name, each in domain.operations.items() if each.optional and dice.random() < 0.6]
    room = OPERATIONS.stop - 1 - sum(not each.optional for each in domain.operations.values())
    operations = {name: each for name, each in domain.operations.items() if not each.optional or name in optional[:room]}
    return replace(
        domain,
        names=(dice.choice(domain.names),),
        limits={name: (dice.choice(values),) for name, values in domain.limits.items()},
        collections={name: replace(each, prefixes=(dice.choice(each.prefixes),)) for name, each in domain.collections.items()},
        operations={
            name: _spell_moves(replace(each, must=tuple(rule for rule in each.must if not rule.optional or dice.random() < 0.5)))
            for name, each in operations.items()
        },
    )


def _spell_moves(operation: Operation) -> Operation:
    return replace(
        operation,
        must=(*(_require(move) for move in operation.moves), *operation.must),
        then=(*(Step(f"{move.row}.status = {move.after!r}") for move in operation.moves), *operation.then),
    )


def _require(move: Move) -> Rule:
    wanted = " or ".join(repr(each) for each in move.before)
    that = f"{move.row}.status == {move.before[0]!r}" if len(move.before) == 1 else f"{move.row}.status in {move.before!r}"
    noun = move.row.replace("_", " ")
    return Rule(
        that=that,
        code=f"{move.row}_not_{'_or_'.join(move.before)}".replace(" ", "_"),
        says=f"This {noun} is '{{{move.row}.status}}'; this can be done only while it is {wanted}.",
        rule=f"The status of {'an' if noun[0] in 'aeiou' else 'a'} {noun} becomes {move.after!r} only from {wanted}.",
    )
