"""What a variation can do without: operations whose absence leaves every other one possible.

statuses and values that conditions name ⊆ those that rows begin with or that what is left brings
about
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from offline.domain import Collection, Domain, Operation

FEWEST_WISHES = 4
"""Changes that can be asked for, or scenarios would be all alike."""
NAMED = re.compile(r"status (?:==|in) (\([^)]*\)|'[^']*')")
MADE = re.compile(r"status ?= ?'([^']*)'")
BORN = re.compile(r"new\((\w+)")
TEXT = re.compile(r"'([^']*)'")
READ = re.compile(r"\.(\w+)")
WRITTEN = re.compile(r"\.(\w+) \+?= ")


@dataclass(frozen=True)
class OperationPart:
    """What an operation needs and what it brings about: statuses, values other than the first, and
    collections that it fills."""

    name: str
    needs: frozenset[str]
    makes: frozenset[str]
    asked: bool


def list_spare(domain: Domain) -> list[str]:
    """Operations in the order in which they may go, options first; each can be missed when those
    before it are gone."""
    parts = {name: _read_part(name, each) for name, each in domain.operations.items()}
    begin = _list_begun(domain)
    tied = {each.lookup.call for each in domain.collections.values()}
    gone: list[str] = []
    for name in sorted(parts.keys() - tied, key=lambda each: _rank(domain.operations[each], each)):
        left = [part for key, part in parts.items() if key != name and key not in gone]
        if domain.operations[name].optional or _is_whole(left, begin, parts.values()):
            gone.append(name)
    return gone


def drop_idle(domain: Domain, whole: Domain) -> Domain:
    """What is left of a whole without operations that nothing makes way for any more, and without
    rules that nothing can break."""
    before = _list_made(whole)
    while True:
        made = _list_made(domain)
        idle = {each for each in before - made if each.startswith(".")}
        looser = {
            name: replace(
                each, must=tuple(rule for rule in each.must if not _reads(rule.that, idle))
            )
            for name, each in domain.operations.items()
        }
        kept = {
            name: each
            for name, each in looser.items()
            if not (_read_part(name, each).needs & before) - made - idle
        }
        if kept == domain.operations:
            return domain
        domain = replace(domain, operations=kept)


def _reads(condition: str, idle: set[str]) -> bool:
    return any(f".{each}" in idle for each in READ.findall(condition))


def _list_made(domain: Domain) -> frozenset[str]:
    return _list_begun(domain).union(
        *(_read_part(name, each).makes for name, each in domain.operations.items())
    )


def _list_begun(domain: Domain) -> frozenset[str]:
    return frozenset(
        each
        for name, collection in domain.collections.items()
        for each in _list_first(name, collection)
    )


def _rank(operation: Operation, name: str) -> tuple[bool, bool, int, str]:
    return not operation.optional, operation.effect == "change", operation.weight, name


def _is_whole(
    left: list[OperationPart], begin: frozenset[str], whole: Iterable[OperationPart]
) -> bool:
    made = begin.union(*(part.makes for part in left))
    # What nothing ever brought about was never to be met.
    ever = begin.union(*(part.makes for part in whole))
    filled = {each for part in whole for each in part.makes if each.startswith("new ")}
    return (
        filled <= made
        and all(part.needs & ever <= made for part in left)
        and sum(part.asked for part in left) >= FEWEST_WISHES
    )


def _read_part(name: str, operation: Operation) -> OperationPart:
    effects = " ; ".join(step.do for step in operation.then)
    makes = {
        *MADE.findall(effects),
        *(move.after for move in operation.moves),
        *(f"new {each}" for each in BORN.findall(effects)),
    }
    conditions = [*(rule.that for rule in operation.must), *(step.do for step in operation.then)]
    needs = {
        each for text in conditions for found in NAMED.findall(text) for each in TEXT.findall(found)
    }
    needs |= {each for move in operation.moves for each in move.before}
    needs |= {f".{each}" for rule in operation.must for each in READ.findall(rule.that)}
    makes |= {f".{each}" for each in WRITTEN.findall(effects)}
    return OperationPart(
        name, frozenset(needs), frozenset(makes), bool(operation.asks and operation.tells)
    )


def _list_first(name: str, collection: Collection) -> Iterator[str]:
    """What first rows have, when there are any: statuses, and attributes of more than one value."""
    status = collection.attributes.get("status")
    yield from (
        f".{key}"
        for key, each in collection.attributes.items()
        if collection.rows[1] and each.always is None and key != "status"
    )
    if collection.rows[1]:
        yield f"new {name}"
    if status and collection.rows[1]:
        yield from map(str, status.one_of)
        yield from (str(status.always),) if status.always is not None else ()
