"""A domain without some of its collections: what cannot be done, said or found without them is gone
as well.

collections to leave out ──► references to them ──► operations, rules and steps that read those ──► what nothing makes way for any more
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from string import Formatter

from offline.domain import Collection, Domain, Number, Operation, Rule, WriteStep
from offline.formula import FOLDS
from offline.knowledge import write_lookup
from offline.spare import FEWEST_WISHES, drop_idle

FEWEST_COLLECTIONS, FEWEST_OPERATIONS = 2, 6


def list_lessened(whole: Domain) -> Iterator[tuple[str, ...]]:
    """Per number of collections below the whole, those to leave out so that most is left to do;
    nothing where too little would be."""
    for gone in range(1, len(whole.collections) - FEWEST_COLLECTIONS + 1):
        ways = [(names, lessen(whole, names)) for names in combinations(whole.collections, gone)]
        left = [(len(smaller.operations), names) for names, smaller in ways if smaller]
        if left:
            yield max(left)[1]


def lessen(whole: Domain, names: Iterable[str]) -> Domain | None:
    """The domain without these collections; none where too little is left to do."""
    gone = set(names)
    lost = {
        key
        for each in whole.collections.values()
        for key, source in each.attributes.items()
        if source.ref in gone
    }
    collections = {
        name: _lessen_collection(each, gone)
        for name, each in whole.collections.items()
        if name not in gone
    }
    kept = [_Cut(gone, lost).lessen(each) for each in whole.operations.values()]
    left = replace(
        whole, collections=collections, operations={each.name: each for each in kept if each}
    )
    smaller = drop_idle(
        replace(left, operations=left.operations | dict(_find_again(left, whole))), whole
    )
    called = all(_can_be_called(name, smaller, whole) for name in collections)
    enough = (
        len(smaller.operations) >= FEWEST_OPERATIONS
        and sum(bool(each.asks and each.tells) for each in smaller.changes) >= FEWEST_WISHES
    )
    return replace(smaller, limits=_list_used(smaller)) if called and enough else None


def _lessen_collection(collection: Collection, gone: set[str]) -> Collection:
    attributes = {
        name: each for name, each in collection.attributes.items() if each.ref not in gone
    }
    lost = collection.attributes.keys() - attributes.keys()
    using = {name: each for name, each in collection.lookup.using.items() if each not in lost}
    return replace(
        collection,
        attributes=attributes,
        distinct=tuple(each for each in collection.distinct if each in attributes),
        then=tuple(
            each for each in collection.then if not {*re.findall(r"\w+", each.do)} & (gone | lost)
        ),
        label=_relabel(collection.label, {each.removesuffix("_id") for each in lost}),
        lookup=replace(collection.lookup, using=using),
    )


def _relabel(label: str, lost: set[str]) -> str:
    """What people call a row when they no longer say whose it is."""
    for name in lost:
        label = re.sub(rf"^\{{{name}\.[^}}]*\}}'s ", "the ", label)
        label = re.sub(
            rf" (?:with|of|for|on|to|by|from|at|in)(?: \w+)? \{{{name}\.[^}}]*\}}", "", label
        )
    return label


def _find_again(left: Domain, whole: Domain) -> Iterator[tuple[str, Operation]]:
    """Lookups that went by what is gone, and list all rows instead."""
    for name, collection in left.collections.items():
        call = collection.lookup.call
        if call not in left.operations and collection.lookup != whole.collections[name].lookup:
            yield call, replace(write_lookup(name, collection, left), name=call)


def _can_be_called(name: str, smaller: Domain, whole: Domain) -> bool:
    """Whether its rows can still be looked up, called by something they have, told apart, and come
    about at all."""
    collection = smaller.collections[name]
    fields = _list_fields(collection.label)
    known = collection.attributes.keys() | {
        key.removesuffix("_id") for key in collection.attributes
    }
    # One attribute that had to differ only beside another has too few values to differ by itself.
    told_apart = (
        collection.distinct == whole.collections[name].distinct or len(collection.distinct) > 1
    )
    made = collection.rows[1] or any(
        f"new({name}," in step.do for each in smaller.changes for step in each.then
    )
    found = (
        collection.lookup.call in smaller.operations
        and set(collection.lookup.using.values()) <= known
    )
    return (
        bool(fields and made and told_apart)
        and found
        and {each.split(".")[0] for each in fields} <= known
    )


def _list_used(smaller: Domain) -> dict[str, tuple[Number, ...]]:
    """Limits that something left still mentions."""
    steps = [each.then for each in smaller.collections.values()]
    said = set(re.findall(r"\w+", f"{smaller.operations!r} {steps!r}"))
    return {name: values for name, values in smaller.limits.items() if name in said}


@dataclass(frozen=True)
class _Cut:
    """What is gone, while operations are gone through."""

    gone: set[str]
    lost: set[str]
    """Attributes that named its rows."""

    def lessen(self, operation: Operation) -> Operation | None:
        """The operation without what it can miss; none when it is about what is gone."""
        if any(
            each.row in self.gone
            or each.find.split(".")[0] in self.gone
            or each.find.split(".")[-1] in self.lost
            for each in operation.takes
        ):
            return None
        fetch, unknown = self._keep_steps(operation.fetch, set())
        then, unknown = self._keep_steps(operation.then, unknown)
        if _needs(operation.gives, self.gone, self.lost, unknown) or any(
            _makes(each.do, self.gone) for each in operation.then
        ):
            return None
        if any(move.row in unknown for move in operation.moves):
            return None
        must = tuple(each for each in operation.must if not self._drops(each, unknown))
        smaller = replace(operation, fetch=fetch, then=then, must=must)
        return smaller if smaller.effect == operation.effect else None

    def _drops(self, rule: Rule, unknown: set[str]) -> bool:
        texts = [rule.that, *_list_fields(rule.says)]
        return any(_needs(each, self.gone, self.lost, unknown) for each in texts)

    def _keep_steps(
        self, steps: tuple[WriteStep, ...], unknown: set[str]
    ) -> tuple[tuple[WriteStep, ...], set[str]]:
        """Steps that can be taken still, and names that nothing binds any more."""
        kept, unbound = list[WriteStep](), set(unknown)
        for step in steps:
            text = _forget(step.do, self.lost)
            if not _needs(text, self.gone, self.lost, unbound):
                kept.append(replace(step, do=text))
            elif name := _read_bound(step.do):
                unbound.add(name)
        return tuple(kept), unbound


def _list_fields(text: str) -> list[str]:
    return [field for _, field, _, _ in Formatter().parse(text) if field]


@cache
def _parse(text: str) -> ast.Module:
    return ast.parse(text)


def _needs(text: str, gone: set[str], lost: set[str], unknown: set[str]) -> bool:
    nodes = list(ast.walk(_parse(text))) if text else []
    folded = {name for _, name in _list_folds(text)}
    named = {each.id for each in nodes if isinstance(each, ast.Name)}
    read = {each.attr for each in nodes if isinstance(each, ast.Attribute)}
    return bool(folded & gone or read & lost or named & unknown)


def _list_folds(text: str) -> Iterator[tuple[str, str]]:
    """What is done with which collections."""
    for node in ast.walk(_parse(text)):
        match node:
            case ast.Call(func=ast.Name(id=word), args=[ast.Name(id=name), *_]) if (
                word in FOLDS or word == "new"
            ):
                yield word, name
            case _:
                pass


def _makes(text: str, gone: set[str]) -> bool:
    """Whether a row of what is gone comes of it: then the operation was about that."""
    return any(word == "new" and name in gone for word, name in _list_folds(text))


def _read_bound(text: str) -> str:
    match _parse(text).body[0]:
        case ast.Assign(targets=[ast.Name(id=name)]):
            return name
        case _:
            return ""


def _forget(text: str, lost: set[str]) -> str:
    """The step without naming rows that are gone in a new one."""
    tree = ast.parse(text)
    calls = [
        each
        for each in ast.walk(tree)
        if isinstance(each, ast.Call) and any(key.arg in lost for key in each.keywords)
    ]
    for call in calls:
        call.keywords = [each for each in call.keywords if each.arg not in lost]
    return ast.unparse(tree) if calls else text
