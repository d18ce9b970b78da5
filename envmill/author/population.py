"""Initial states: first rows are drawn, then permitted operations are played on them, so every state is one that could have come about."""

import random
from datetime import timedelta

from envmill.author.dice import make_dice
from envmill.author.domain import TODAY, Attribute, Collection, Domain, Number, Row, spread
from envmill.author.draw import draw_permitted
from envmill.author.world import World
from envmill.errors import SettingsError

PAST = timedelta(days=21)
"""How long before the session a history begins. No rule depends on the date, so that another clock changes no outcome."""
ENOUGH_ROWS = 4
ENOUGH_CHANGES = 8
MOST_CHANGES = 60
TRIES = 20


def populate(domain: Domain, key: str) -> World:
    """A world with at least four rows in every collection, their references sound, their past possible."""
    short: list[str] = []
    for again in range(TRIES):
        world = _live_through(domain, f"{key}/{again}")
        short = [name for name, rows in world.state.items() if len(rows) < ENOUGH_ROWS]
        if not short:
            return world
    raise SettingsError(f"Domain {domain.theme}: {', '.join(short)} stay short of rows. Give them `rows` or an easier operation.")


def _live_through(domain: Domain, key: str) -> World:
    dice = make_dice("population", domain.theme, key)
    world = World(domain, {name: {} for name in domain.collections}, TODAY - PAST, key)
    for name, collection in domain.collections.items():
        for _ in range(dice.randint(*collection.rows)):
            _add_row(world, name, collection, dice)
    _play_history(world, dice)
    return world


def _play_history(world: World, dice: random.Random) -> None:
    changes = world.domain.changes
    weights = [each.weight for each in changes]
    done = 0
    for _ in range(MOST_CHANGES):
        if done >= ENOUGH_CHANGES and all(len(rows) >= ENOUGH_ROWS for rows in world.state.values()):
            return
        operation = dice.choices(changes, weights)[0]
        arguments = draw_permitted(operation, world, world.state, dice)
        if arguments is not None:
            world.apply(operation, arguments)
            world.day = min(world.day + timedelta(days=dice.randrange(4)), TODAY - timedelta(days=1))
            done += 1


def _add_row(world: World, name: str, collection: Collection, dice: random.Random) -> None:
    rows = world.state[name]
    for _ in range(60):
        row: Row = {attribute: _draw_value(name, attribute, source, world, dice) for attribute, source in collection.attributes.items()}
        if not any(_collide(row, other, collection) for other in rows.values()):
            row = {"id": world.make_id(name)} | row
            rows[row["id"]] = row
            return
    raise SettingsError(f"Domain {world.domain.theme}: {name} has too few distinct values for {collection.rows[1]} rows. Add some.")


def _collide(row: Row, other: Row, collection: Collection) -> bool:
    alone = (name for name, attribute in collection.attributes.items() if attribute.unique)
    together = collection.distinct and all(row[name] == other[name] for name in collection.distinct)
    return bool(together) or any(row[name] == other[name] for name in alone)


def _draw_value(collection: str, name: str, source: Attribute, world: World, dice: random.Random) -> str | Number:
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
        return dice.choice(list(world.state[source.ref]))
    if source.day:
        return (TODAY + timedelta(days=dice.randint(*source.day))).isoformat()
    raise SettingsError(f"Domain {world.domain.theme}: {collection}.{name} has no source, so give {collection} no first rows.")
