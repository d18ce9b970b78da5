"""States of many rows: populations that lived through a past each, stamped out under new ids and
names until there are enough.

populations ──copies, each row under another id, each unique value with a word of its own──► rows of first days ──► exactly so many
"""

import random
import re
from collections.abc import Iterator
from dataclasses import replace

from envmill.base.errors import SettingsError
from envmill.runtime.canonical import MAX_STATE
from offline.copies import add_doubles, list_unique, stamp
from offline.dice import make_dice
from offline.domain import Collection, Domain, Lookup, Operation, State
from offline.knowledge import write_lookup
from offline.population import begin, populate
from offline.world import DomainWorld
from schemas.base import canonical_json

POPULATIONS = 5
"""Different ones; the rest are copies of these."""
PAGE = 200
"""Rows a query gives at most: a reply holds 1 MB."""
CONSONANTS, VOWELS, WORDS = "bdfghjklmnprstvwxyzc", "aeiou", 10**6
STRIDE = 787_781
"""Shares no factor with the number of words: neighbours sound unlike, and no word comes twice."""


def widen(domain: Domain, rows: int) -> Domain:
    """The same domain for many rows: nothing is found by listing everything, and a query gives a
    page."""
    lists = {name: each for name, each in domain.collections.items() if not each.lookup.using}
    found = {each.lookup.call: _find_instead(name, each, domain) for name, each in lists.items()}
    operations = dict(found.get(name, (name, each)) for name, each in domain.operations.items())
    collections = {
        name: replace(each, lookup=_find_lookup(each, domain)) if name in lists else each
        for name, each in domain.collections.items()
    }
    return replace(
        domain,
        rows=rows,
        collections=collections,
        operations={name: _turn_pages(each) for name, each in operations.items()},
    )


def settle(domain: Domain, key: str) -> DomainWorld:
    """A state of as many rows as the domain wants."""
    core = settle_core(domain, key)
    return surround(core) if domain.rows else core


def settle_core(domain: Domain, key: str) -> DomainWorld:
    """The part of a state that a request is about: all of it, unless many rows are wanted."""
    core = add_doubles(populate(domain, key), domain.doubles)
    if domain.rows:
        core.state = stamp(
            core, dict(_list_names(core, list_marks(_make_dice(core), 0))), None, set()
        )
    return core


def surround(core: DomainWorld) -> DomainWorld:
    """The core among as many rows as the domain wants; nothing refers from one population to
    another."""
    dice, whole = _make_dice(core), core.copy()
    marks, taken = (
        list_marks(dice, WORDS // 2),
        {row_id for rows in core.state.values() for row_id in rows},
    )
    bases = [populate(core.domain, f"{core.key}/{each}") for each in range(POPULATIONS)]
    left = core.domain.rows - _count(core.state)
    while left >= max(_count(each.state) for each in bases):
        left -= _pour(_stamp(dice.choice(bases), marks, dice, taken), whole.state)
    while left > 0:
        newcomers = begin(core.domain, f"{core.key}/{left}", dice)
        left -= _pour(_stamp(newcomers, marks, dice, taken), whole.state, left)
    _check_size(whole)
    return whole


def rename_core(
    core: DomainWorld, marks: Iterator[tuple[str, str]], taken: set[str]
) -> DomainWorld:
    """The same population under ids and unique names that no other one has."""
    renamed = core.copy()
    renamed.state = stamp(core, dict(_list_names(core, marks)), _make_dice(core), taken)
    return renamed


def _make_dice(core: DomainWorld) -> random.Random:
    return make_dice("crowd", core.domain.theme, core.key)


def _stamp(
    base: DomainWorld, marks: Iterator[tuple[str, str]], dice: random.Random, taken: set[str]
) -> State:
    return stamp(base, dict(_list_names(base, marks)), dice, taken)


def _list_names(base: DomainWorld, marks: Iterator[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """Unique value → the one it becomes."""
    for value in list_unique(base):
        word, digits = next(marks)
        yield value, f"{value}{digits}" if value[-1:].isdigit() else f"{value} {word}"


def _pour(rows: State, state: State, most: int = 10**9) -> int:
    """Add rows, those that others refer to first; the number added."""
    room = most
    for name, more in rows.items():
        taken = list(more.items())[:room]
        state[name].update(taken)
        room -= len(taken)
    return most - room


def _count(state: State) -> int:
    return sum(len(rows) for rows in state.values())


def list_marks(dice: random.Random, skipped: int) -> Iterator[tuple[str, str]]:
    """A coined word and a number of fixed length, never the same twice."""
    first = dice.randrange(WORDS)
    for place in range(skipped, WORDS):
        number = (first + place * STRIDE) % WORDS
        syllables = (divmod(number // 100**each % 100, len(VOWELS)) for each in range(3))
        yield (
            "".join(CONSONANTS[high] + VOWELS[low] for high, low in syllables).capitalize(),
            f"{number:06d}",
        )


def _check_size(world: DomainWorld) -> None:
    if world.domain.rows < 20_000:
        return
    size, rows = len(canonical_json(world.state).encode()), _count(world.state)
    if size > MAX_STATE:
        fit = rows * MAX_STATE // size // 1000 * 1000
        raise SettingsError(
            f"{rows} rows of {world.domain.theme} are {size} bytes, more than the {MAX_STATE} a "
            f"state may have. Ask for {fit} rows."
        )


def _find_instead(name: str, collection: Collection, domain: Domain) -> tuple[str, Operation]:
    lookup = _find_lookup(collection, domain)
    found = write_lookup(name, replace(collection, lookup=lookup), domain)
    return lookup.call, replace(found, name=lookup.call)


def _find_lookup(collection: Collection, domain: Domain) -> Lookup:
    """By a unique value that people call the row by, or by the row it belongs to."""
    said = re.findall(r"{(\w+)", collection.label)
    call = f"find_{collection.noun}"
    call = call if call not in domain.operations else f"{call}_record"
    for each in said:
        if each in collection.attributes and collection.attributes[each].unique:
            return Lookup(call, {"query": each})
    for each in said:
        if f"{each}_id" in collection.attributes:
            return Lookup(call, {f"{each}_id": f"{each}_id"})
    raise SettingsError(
        f"Domain {domain.theme}: {collection.noun} has no name to be found by among many. Give "
        "its label a unique attribute."
    )


def _turn_pages(operation: Operation) -> Operation:
    if not operation.gives.startswith("rows("):
        return operation
    return replace(
        operation,
        gives=f"page({operation.gives}, {PAGE})",
        does=f"{operation.does} At most {PAGE} are given.",
    )
