"""Copies of a population: the same rows once more under other ids and names, and doubles, whose
names are one slip away.

population ──as many doubles of every row as wanted──► near misses beside whatever a request names, each with a past of its own
"""

import random
import re
from collections.abc import Iterator
from itertools import chain

from offline.dice import make_dice
from offline.domain import Attribute, State
from offline.world import DomainWorld

SYLLABLES = (
    "bal",
    "den",
    "fin",
    "gor",
    "hal",
    "kem",
    "lor",
    "mun",
    "nel",
    "pas",
    "rin",
    "sol",
    "tam",
    "vik",
    "wes",
)
SHORTEST = 4
"""Letters of a name whose end can be another one's."""
TRIES = 40
"""Slips before a digit more tells two names apart: of "7" there are nine."""
MOST_ROWS = 190
"""Rows of a state with doubles: a reply still lists them all, and the state fits a prompt."""


def add_doubles(base: DomainWorld, count: int) -> DomainWorld:
    """The population with so many doubles of each of its rows, or as many as there is room for."""
    whole, rows = base.copy(), sum(map(len, base.state.values()))
    dice = make_dice("doubles", base.domain.theme, base.key)
    taken = {row_id for rows in base.state.values() for row_id in rows}
    known = {*list_unique(base)}
    for _ in range(min(count, (base.domain.rows or MOST_ROWS) // rows - 1)):
        names = {value: _misname(value, known, dice) for value in list_unique(base)}
        for name, more in stamp(base, names, dice, taken).items():
            whole.state[name].update(more)
    return whole


def list_unique(base: DomainWorld) -> Iterator[str]:
    """Every value that one row alone may have, each once in a collection."""
    for name, collection in base.domain.collections.items():
        for attribute in (key for key, each in collection.attributes.items() if each.unique):
            yield from dict.fromkeys(row[attribute] for row in base.state[name].values())


def _misname(value: str, known: set[str], dice: random.Random) -> str:
    """What somebody careless takes for this name: another digit, another surname, another end."""
    slips = (_slip(value, dice) for _ in range(TRIES))
    longer = (f"{value}{more}" for more in range(2, 10**6))
    said = next(each for each in chain(slips, longer) if each not in known)
    known.add(said)
    return said


def _slip(value: str, dice: random.Random) -> str:
    if digits := [place for place, each in enumerate(value) if each.isdigit()]:
        place = dice.choice(digits)
        return f"{value[:place]}{dice.randrange(10)}{value[place + 1 :]}"
    *first, last = re.split(r"(?<= )", value)
    end = "".join(dice.sample(SYLLABLES, 2))
    if first:
        return "".join(first) + (end.capitalize() if last[:1].isupper() else end)
    return (
        f"{value[: (len(value) + 1) // 2]}{end}"
        if len(value) >= SHORTEST
        else f"{value}{dice.randrange(2, 99)}"
    )


def stamp(
    base: DomainWorld, names: dict[str, str], dice: random.Random | None, taken: set[str]
) -> State:
    """A population once more: other ids where there are dice, and unique values under the names
    given."""
    collections = base.domain.collections
    ids = {row_id: _renew(row_id, dice, taken) for rows in base.state.values() for row_id in rows}
    return {
        name: {
            ids[row_id]: {
                key: _replace(value, collections[name].attributes.get(key), ids, names)
                for key, value in row.items()
            }
            for row_id, row in rows.items()
        }
        for name, rows in base.state.items()
    }


def _replace(
    value: str | float, source: Attribute | None, ids: dict[str, str], names: dict[str, str]
) -> str | float:
    if not isinstance(value, str):
        return value
    if value in ids:
        return ids[value]
    # A value that only operations write may be a copy of somebody's name.
    return (
        names.get(value, value) if source and (source.unique or not _has_source(source)) else value
    )


def _has_source(source: Attribute) -> bool:
    return (
        bool(source.one_of or source.between or source.pattern or source.ref or source.day)
        or source.always is not None
    )


def _renew(row_id: str, dice: random.Random | None, taken: set[str]) -> str:
    new = row_id
    while dice and (new == row_id or new in taken):
        new = f"{row_id.rpartition('_')[0]}_{dice.getrandbits(32):08x}"
    taken.add(new)
    return new
