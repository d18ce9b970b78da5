"""Initial states: first rows are drawn, then permitted operations are played on them, so every
state is one that could have come about."""

import random
from collections.abc import Iterable
from datetime import timedelta

from envmill.base.errors import SettingsError
from offline.dice import make_dice
from offline.domain import (
    GONE,
    TODAY,
    Attribute,
    Collection,
    Department,
    Domain,
    Number,
    Row,
    spread,
)
from offline.draw import sample_permitted
from offline.world import DomainWorld

PAST = timedelta(days=21)
"""How long before the session a history begins. No rule depends on the date, so that another clock
changes no outcome."""
ENOUGH_ROWS = 4
MET = 4
"""People of a server who are people of the first one, too."""
ENOUGH_CHANGES = 8
MOST_CHANGES = 60
TRIES = 20


def populate(domain: Domain, key: str) -> DomainWorld:
    """A world with at least four rows in every collection, their references sound, their past
    possible."""
    world = open_world(domain, key)
    for place, department in enumerate(domain.departments):
        world = live_through(world, department, f"{key}/{place}" if place else key)
    return world


def begin(domain: Domain, key: str, dice: random.Random) -> DomainWorld:
    """A world of first rows, nothing done to them yet; rows refer to earlier ones only."""
    world = open_world(domain, key)
    _add_rows(world, domain.collections, dice)
    return world


def open_world(domain: Domain, key: str) -> DomainWorld:
    """A world before anything is in it."""
    return DomainWorld(domain, {name: {} for name in domain.collections}, TODAY - PAST, key)


def live_through(world: DomainWorld, department: Department, key: str) -> DomainWorld:
    """The world with a department that has a past: first rows, then changes, from the start again
    while too little came of it."""
    short: list[str] = []
    for again in range(TRIES):
        grown, dice = world.copy(), make_dice("population", world.domain.theme, f"{key}/{again}")
        grown.key, grown.day = f"{key}/{again}", TODAY - PAST
        _add_rows(grown, department.collections, dice)
        _meet(grown, department)
        _play_history(grown, department, dice)
        short = _list_short(grown, department)
        if not short:
            return grown
    raise SettingsError(
        f"Domain {world.domain.theme}: {', '.join(short)} stay short of rows. Give them `rows` or "
        "an easier operation."
    )


def _meet(world: DomainWorld, department: Department) -> None:
    """Where it is a server: some of its people are those of the first one, and whoever bears a
    known name is the same person."""
    if not department.server or department == world.domain.departments[0]:
        return
    rows, first = list(world.state[department.people].values()), world.domain.departments[0].people
    for row, known in zip(rows, list(world.state[first].values())[:MET], strict=False):
        if all(other["name"] != known["name"] for other in rows):
            row["name"] = known["name"]
    earlier = [one.people for one in world.domain.departments if one.people != department.people]
    towns = {
        known["name"]: known["town"] for name in earlier for known in world.state[name].values()
    }
    for row in rows:
        row["town"] = towns.get(row["name"], row["town"])


def _list_short(world: DomainWorld, department: Department) -> list[str]:
    return [name for name in department.collections if len(world.state[name]) < ENOUGH_ROWS]


def _add_rows(world: DomainWorld, names: Iterable[str], dice: random.Random) -> None:
    for name in names:
        collection = world.domain.collections[name]
        for _ in range(dice.randint(*collection.rows)):
            _add_row(world, name, collection, dice)


def _play_history(world: DomainWorld, department: Department, dice: random.Random) -> None:
    changes = [each for each in world.domain.changes if each.name in department.operations]
    weights = [each.weight for each in changes]
    done = 0
    for _ in range(MOST_CHANGES if changes else 0):
        if done >= ENOUGH_CHANGES and not _list_short(world, department):
            return
        operation = dice.choices(changes, weights)[0]
        arguments = sample_permitted(operation, world, world.state, dice)
        if arguments is not None:
            world.apply(operation, arguments)
            world.day = min(
                world.day + timedelta(days=dice.randrange(4)), TODAY - timedelta(days=1)
            )
            done += 1


def _add_row(world: DomainWorld, name: str, collection: Collection, dice: random.Random) -> None:
    rows = world.state[name]
    for _ in range(60):
        row: Row = {
            attribute: _sample_value(name, attribute, source, world, dice)
            for attribute, source in collection.attributes.items()
        }
        world.set_right(row, collection)
        if not any(_collide(row, other, collection) for other in rows.values()):
            row = {"id": world.make_id(name)} | row
            rows[row["id"]] = row
            return
    raise SettingsError(
        f"Domain {world.domain.theme}: {name} has too few distinct values for "
        f"{collection.rows[1]} rows. Add some."
    )


def _collide(row: Row, other: Row, collection: Collection) -> bool:
    alone = (name for name, attribute in collection.attributes.items() if attribute.unique)
    together = collection.distinct and all(row[name] == other[name] for name in collection.distinct)
    return bool(together) or any(row[name] == other[name] for name in alone)


def _sample_value(
    collection: str, name: str, source: Attribute, world: DomainWorld, dice: random.Random
) -> str | Number:
    if source.always is not None:
        return source.always
    if source.one_of:
        return dice.choice(source.one_of)
    if source.between:
        if isinstance(source.step, float):
            return float(spread(*source.between, source.step, dice.randrange(10**6)))
        return dice.randrange(int(source.between[0]), int(source.between[1]) + 1, source.step)
    if source.pattern:
        return "".join(str(dice.randrange(10)) if each == "#" else each for each in source.pattern)
    if source.ref:
        rows = world.state[source.ref]
        return dice.choice(
            [key for key, row in rows.items() if GONE not in row.values()] or list(rows)
        )
    if source.day:
        return (TODAY + timedelta(days=dice.randint(*source.day))).isoformat()
    raise SettingsError(
        f"Domain {world.domain.theme}: {collection}.{name} has no source, so give {collection} no "
        "first rows."
    )
