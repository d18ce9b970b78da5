"""A domain with some of its features: what depends on the others is gone, phrases that mention it as
well."""

from collections.abc import Iterable
from dataclasses import replace
from itertools import combinations
from string import Formatter
from typing import Protocol, TypeVar

from offline.domain import Collection, Domain, Operation


class Featured(Protocol):
    """Anything that may depend on a feature."""

    @property
    def feature(self) -> str:
        """Feature it belongs to; empty means always there."""
        ...


Part = TypeVar("Part", bound=Featured)


def list_feature_sets(whole: Domain) -> list[tuple[str, ...]]:
    """Every set of features, small ones first."""
    return [
        each
        for size in range(len(whole.features) + 1)
        for each in combinations(whole.features, size)
    ]


def cut_domain(whole: Domain, features: Iterable[str]) -> Domain:
    """The domain with the named features alone."""
    chosen = set(features)
    return replace(
        whole,
        features={name: text for name, text in whole.features.items() if name in chosen},
        collections={
            name: _cut_collection(each, chosen)
            for name, each in _keep_named(whole.collections, chosen).items()
        },
        operations={
            name: _cut_operation(name, each, chosen)
            for name, each in _keep_named(whole.operations, chosen).items()
        },
    )


def _keep(parts: Iterable[Part], chosen: set[str]) -> tuple[Part, ...]:
    return tuple(each for each in parts if not each.feature or each.feature in chosen)


def _keep_named(parts: dict[str, Part], chosen: set[str]) -> dict[str, Part]:
    return {
        name: each for name, each in parts.items() if not each.feature or each.feature in chosen
    }


def _cut_collection(collection: Collection, chosen: set[str]) -> Collection:
    return replace(
        collection,
        attributes=_keep_named(collection.attributes, chosen),
        then=_keep(collection.then, chosen),
    )


def _cut_operation(name: str, operation: Operation, chosen: set[str]) -> Operation:
    return replace(
        operation,
        name=name,
        takes=_keep(operation.takes, chosen),
        fetch=_keep(operation.fetch, chosen),
        must=_keep(operation.must, chosen),
        moves=_keep(operation.moves, chosen),
        then=_keep(operation.then, chosen),
        asks=tuple(each for each in operation.asks if _mentions_all(each, operation, chosen)),
        tells=tuple(each for each in operation.tells if _mentions_all(each, operation, chosen)),
    )


def _mentions_all(phrase: str, operation: Operation, chosen: set[str]) -> bool:
    """Whether a phrase mentions every parameter and nothing else: what is not said cannot be asked
    for."""
    said = {field.split(".")[0] for _, field, _, _ in Formatter().parse(phrase) if field}
    return said == {each.local for each in _keep(operation.takes, chosen)}
