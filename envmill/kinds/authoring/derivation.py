"""A database derived from what tools promise: nobody writes a schema, every table is there because
some tool speaks of it.

promises ──mentions, in order──► tables ─► columns ─► types, references, policies      ──► schema
        └──takes, looks at, sets, makes──► tool → tables it reads and writes
        └──what cannot be true together──► faults, each naming the tools that disagree
"""

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.database import Mention, Policy, Promise, Sort, Touch

KEY = "id"
CENT = 0.005
"""Decimals are amounts to two places: what differs by less is the same amount."""
_TYPES: dict[Sort, str] = {
    "key": "TEXT",
    "text": "TEXT",
    "prose": "TEXT",
    "whole": "INTEGER",
    "decimal": "REAL",
}
_PLACE = re.compile(r"[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*")
_Spoken = dict[str, dict[str, list[tuple[str, Mention]]]]
"""Table → column → who speaks of it, and how."""


@dataclass(frozen=True)
class Derived:
    """What follows from the promises of tools."""

    ddl: str
    policies: dict[str, Policy | float]
    touches: dict[str, Touch]
    collections: dict[str, list[str]]
    """Table → columns."""


def derive_database(promises: Mapping[str, Promise]) -> Derived:
    """Where tools disagree the first one is followed; `find_promise_faults` says that they do."""
    spoken = _list_spoken(promises)
    first = {
        table: {column: said[0][1] for column, said in columns.items()}
        for table, columns in spoken.items()
    }
    return Derived(
        "\n\n".join(_write_table(table, columns) for table, columns in first.items()) + "\n",
        {
            f"{table}.{name}": policy
            for table, columns in first.items()
            for name, one in columns.items()
            if (policy := _label(name, one))
        },
        {tool: find_touch(promise) for tool, promise in promises.items()},
        {table: list(columns) for table, columns in first.items()},
    )


def find_touch(promise: Promise) -> Touch:
    """A table that only gets new rows is written without being read."""
    writes = {one.of.partition(".")[0] for one in promise.sets} | set(promise.makes)
    reads = {one.of.partition(".")[0] for one in (*promise.takes.values(), *promise.looks_at)}
    return Touch(reads=sorted(reads | (writes - set(promise.makes))), writes=sorted(writes))


def find_promise_faults(promises: Mapping[str, Promise], tools: Sequence[str]) -> Iterator[str]:
    """What no database could keep, in words for whoever promised it."""
    for name in sorted(set(tools) ^ set(promises)):
        amiss = (
            "promises nothing: say what it takes, looks at and sets"
            if name in tools
            else "is no tool and promises something"
        )
        yield f"{name} {amiss}."
    yield from (
        f"{tool} speaks of {one.of!r}: write `table.column`, both in snake_case."
        for tool, promise in promises.items()
        for one in promise.mentions
        if not _PLACE.fullmatch(one.of)
    )
    spoken = _list_spoken(promises)
    for table, columns in spoken.items():
        for column, said in columns.items():
            yield from _find_disagreement(f"{table}.{column}", said, spoken)
        if set(columns) == {KEY}:
            yield (
                f"{_name_tools(columns[KEY])} speak of {table}, and nothing but the key is ever "
                "said of it."
            )
    yield from _find_gaps(promises, spoken)


def _list_spoken(promises: Mapping[str, Promise]) -> _Spoken:
    """Tables and columns in the order in which they are first spoken of, the key first."""
    spoken: _Spoken = defaultdict(lambda: {KEY: []})
    for tool, promise in promises.items():
        for table in promise.makes:
            spoken[table][KEY].append((tool, Mention(of=f"{table}.{KEY}", sort="key")))
        for one in promise.mentions:
            table, _, column = one.of.partition(".")
            # A key that is said to refer to its own table says what every key is.
            said = (
                one.model_copy(update={"refers": ""})
                if (column, one.refers) == (KEY, table)
                else one
            )
            spoken[table].setdefault(column, []).append((tool, said))
    for table, columns in spoken.items():
        if not columns[KEY]:
            columns[KEY].append(("", Mention(of=f"{table}.{KEY}", sort="key")))
    return dict(spoken)


def _find_disagreement(
    place: str, said: Sequence[tuple[str, Mention]], spoken: _Spoken
) -> Iterator[str]:
    tool, one = said[0]
    for other, another in said[1:]:
        if another.sort != one.sort:
            yield (
                f"{tool} says that {place} is {one.sort}, {other} that it is {another.sort}: "
                "agree on one."
            )
            return
        if another.refers != one.refers:
            yield (
                f"{tool} says that {place} refers to {one.refers or 'nothing'}, {other} to "
                f"{another.refers or 'nothing'}: agree on one."
            )
            return
    if one.refers and one.refers not in spoken:
        yield (
            f"{tool} says that {place} refers to {one.refers}, and no tool speaks of such a table."
        )


def _find_gaps(promises: Mapping[str, Promise], spoken: _Spoken) -> Iterator[str]:
    """A new row that nobody fills, and what is written and can never be seen."""
    for tool, promise in promises.items():
        filled = {one.of for one in promise.sets}
        for table in promise.makes:
            if empty := [
                name for name in spoken[table] if name != KEY and f"{table}.{name}" not in filled
            ]:
                yield f"{tool} makes a row of {table} and does not set its {', '.join(empty)}."
    seen = {
        one.of
        for promise in promises.values()
        for one in (*promise.takes.values(), *promise.looks_at)
    }
    for tool, promise in promises.items():
        yield from (
            f"{tool} sets {one.of}, which no tool ever looks at."
            for one in promise.sets
            if one.of not in seen
        )


def _name_tools(said: Sequence[tuple[str, Mention]]) -> str:
    return ", ".join(dict.fromkeys(tool for tool, _ in said if tool)) or "tools"


def _label(column: str, one: Mention) -> Policy | float | None:
    """Keys are given on the way, decimals agree to the cent, prose may be worded otherwise; nothing
    where it is strict."""
    if column == KEY:
        return "exempt"
    return (
        CENT
        if one.sort == "decimal"
        else "semantic"
        if one.sort == "prose" and not one.refers
        else None
    )


def _write_table(table: str, columns: Mapping[str, Mention]) -> str:
    lines = [f'    "{KEY}" TEXT PRIMARY KEY']
    lines += [_write_column(name, one) for name, one in columns.items() if name != KEY]
    return f'CREATE TABLE "{table}" (\n' + ",\n".join(lines) + "\n);"


def _write_column(name: str, one: Mention) -> str:
    words = [
        f'    "{name}" {_TYPES[one.sort]}',
        "" if one.empty else "NOT NULL",
        "UNIQUE" if one.unique else "",
    ]
    if one.values:
        listed = ", ".join("'" + value.replace("'", "''") + "'" for value in one.values)
        words.append(f'CHECK ("{name}" IN ({listed}))')
    words.append(f'CHECK ("{name}" >= {one.least})' if one.least is not None else "")
    words.append(f'REFERENCES "{one.refers}" ("{KEY}")' if one.refers else "")
    return " ".join(filter(None, words))
