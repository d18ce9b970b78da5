"""Tables made larger, in rounds: every record a second time, with a past of its own, under names
one slip away.

state ─► families of tables that refer to each other ─► each copied whole: new keys, same ties, other names ─► what the path does there

A family is copied whole or not at all: counts, balances and what stands below a record agree in the
copy as they did before. What cannot be called by another name (a zone of one letter) leaves its
family as it is.
"""

import random
import re
import string
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from envmill.runtime.db.changes import render_key
from schemas.base import Json, is_object
from schemas.database import Table

FEW = 4
"""Rows from which a column that never says the same twice holds names; of fewer, it says so by what
it is called."""
TRIES = 20
_NAMING = frozenset(
    [
        "name",
        "title",
        "code",
        "number",
        "no",
        "label",
        "serial",
        "plate",
        "email",
        "phone",
        "address",
    ]
)
_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_COINED = re.compile(r"(.*?)([0-9a-f]{6,})")
_DIGITS = "0123456789"

State: TypeAlias = dict[str, Json]
Row: TypeAlias = Mapping[str, Json]
Holds: TypeAlias = Callable[[State], Awaitable[tuple[str, str] | None]]
"""Why a path does something else on a state, as a code and words; nothing where it does the
same."""


class _NamelessError(Exception):
    """A record for which there is no other name."""


@dataclass(frozen=True)
class EnlargingRound:
    """What became of one round."""

    before: int
    """Records."""
    after: int
    reason: str = ""
    """Why it was not kept; empty where it was."""
    detail: str = ""


async def enlarge(
    state: State, tables: Sequence[Table], rounds: int, chance: random.Random, holds: Holds
) -> tuple[State, list[EnlargingRound]]:
    """The largest state on which the path still does what it did, and a line for each round; it
    ends with the first that is not kept."""
    told: list[EnlargingRound] = []
    for _ in range(rounds):
        larger = copy_families(state, tables, chance)
        before, after = count_rows(state), count_rows(larger)
        fault = (
            await holds(larger)
            if after > before
            else ("nothing_copied", "no family of tables can be called by other names")
        )
        told.append(EnlargingRound(before, after, *(fault or ())))
        if fault:
            break
        state = larger
    return state, told


def count_rows(state: State) -> int:
    return sum(len(rows) for rows in state.values())


def copy_families(state: State, tables: Sequence[Table], chance: random.Random) -> State:
    """Every family that can be copied, once more."""
    larger = {name: dict(rows) for name, rows in state.items()}
    for family in find_families(tables, state):
        try:
            copied = _copy(
                [table for table in family if is_object(state.get(table.name))], state, chance
            )
        except _NamelessError:
            continue
        for name, rows in copied.items():
            larger[name] |= rows
    return larger


def find_families(tables: Sequence[Table], state: State) -> list[list[Table]]:
    """Tables that are tied to each other: by a column that refers, or by one that holds another's
    keys and does not say so."""
    group, homes = {table.name: {table.name} for table in tables}, dict(_find_homes(tables, state))
    for table in tables:
        for other in {column.references.partition(".")[0] for column in table.columns} | _list_held(
            state.get(table.name), homes
        ):
            if other in group:
                both = group[table.name] | group[other]
                group.update(dict.fromkeys(both, both))
    told: list[list[Table]] = []
    for table in tables:
        if not any(table in family for family in told):
            told.append([each for each in tables if each.name in group[table.name]])
    return told


def _find_homes(tables: Sequence[Table], state: State) -> Iterator[tuple[str, str]]:
    """Text key → its table."""
    for table in tables:
        if len(table.key) == 1 and is_object(rows := state.get(table.name)):
            yield from (
                (row[table.key[0]], table.name)
                for row in rows.values()
                if isinstance(row.get(table.key[0]), str)
            )


def _list_held(rows: Json, homes: Mapping[str, str]) -> set[str]:
    """Tables whose keys stand in these rows."""
    values = [value for row in rows.values() for value in row.values()] if is_object(rows) else []
    return {homes[value] for value in values if isinstance(value, str) and value in homes}


def _copy(family: Sequence[Table], state: State, chance: random.Random) -> State:
    """A family's rows with other keys and names; what holds one of the old ones holds the new."""
    renamed = dict[str, Json]()
    counted = {table.name: dict(_number(table, state[table.name])) for table in family}
    for table in family:
        for column in _list_named(table, state[table.name]):
            held = [row[column] for row in state[table.name].values() if row.get(column)]
            taken = set(map(str, held)) | set(map(str, renamed.values()))
            for value in held:
                if value not in renamed:
                    renamed[value] = _rename(str(value), held, taken, chance)
    return {
        table.name: dict(_copy_rows(table, state[table.name], renamed, counted)) for table in family
    }


def _copy_rows(
    table: Table,
    rows: Mapping[str, Row],
    renamed: Mapping[str, Json],
    counted: Mapping[str, Mapping[int, int]],
) -> Iterator[tuple[str, Json]]:
    homes = {column.name: column.references.partition(".")[0] for column in table.columns}
    if len(table.key) == 1:
        homes[table.key[0]] = table.name
    for row in rows.values():
        copy = {
            name: _change(value, renamed, counted.get(homes.get(name, ""), {}))
            for name, value in row.items()
        }
        key = render_key([copy.get(column) for column in table.key])
        if key in rows:
            raise _NamelessError(f"{table.name}.{key}")
        yield key, copy


def _change(value: Json, renamed: Mapping[str, Json], numbers: Mapping[int, int]) -> Json:
    if isinstance(value, str):
        return renamed.get(value, value)
    return (
        numbers.get(value, value)
        if isinstance(value, int) and not isinstance(value, bool)
        else value
    )


def _number(table: Table, rows: Mapping[str, Row]) -> Iterator[tuple[int, int]]:
    """Keys that are numbers go on where they end."""
    keys = [row.get(table.key[0]) for row in rows.values()] if len(table.key) == 1 else []
    numbers = sorted(key for key in keys if isinstance(key, int) and not isinstance(key, bool))
    yield from ((key, numbers[-1] + place) for place, key in enumerate(numbers, 1))


def _list_named(table: Table, rows: Mapping[str, Row]) -> Iterator[str]:
    """Keys that are text, and columns that call a record by a name."""
    for column in table.columns:
        values = [row.get(column.name) for row in rows.values()]
        texts = [value for value in values if isinstance(value, str) and value]
        if column.references or not texts:
            continue
        distinct = len(texts) == len(set(texts)) == len(values)
        if table.key == [column.name] or (distinct and _is_naming(column.name, texts)):
            yield column.name


def _is_naming(column: str, texts: Sequence[str]) -> bool:
    if any(_DAY.match(text) for text in texts) or all(
        text.islower() and text.isalpha() for text in texts
    ):
        return False
    return len(texts) >= FEW or bool(_NAMING & set(column.split("_")))


def _rename(value: str, others: Sequence[Json], taken: set[str], chance: random.Random) -> str:
    """Another of its kind that nothing is called by yet."""
    for turn in range(TRIES):
        if (name := _sample_name(value, others, chance, longer=turn >= TRIES // 2)) not in taken:
            taken.add(name)
            return name
    raise _NamelessError(value)


def _sample_name(value: str, others: Sequence[Json], chance: random.Random, *, longer: bool) -> str:
    """Where nearly all names of its length are taken, a longer one."""
    if coined := _COINED.fullmatch(value):
        return coined[1] + "".join(chance.choices(string.hexdigits[:16], k=len(coined[2])))
    if places := [place for place, letter in enumerate(value) if letter in _DIGITS]:
        place = chance.choice(places[1:] or places)
        return f"{value[:place]}{chance.choice(_DIGITS)}{value[place + (not longer) :]}"
    first, space, _ = value.rpartition(" ")
    if not space:
        return f"{value} {chance.randint(2, 99)}" if len(value) > 2 else value
    *_, last = str(chance.choice(others)).rpartition(" ")
    return (
        f"{first} {chance.choice(string.ascii_uppercase)}. {last}" if longer else f"{first} {last}"
    )
