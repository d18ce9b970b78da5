"""Whether two final states are the same except for generated keys."""

from collections.abc import Iterator, Mapping, Sequence

from envmill.language.words import normalise
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.database import Column, Table
from schemas.scenario import Verifier

_MASK = "#"
_DEPTH = 3
"""Number of references followed from a new row to other new rows."""


def outline(initial: Json, final: Json) -> str:
    """The final state with generated keys masked and new rows sorted. Equal texts mean the same
    final state."""
    masked = frozenset(_list_new_keys(initial, final))
    return canonical_json(_mask(final, masked))


def is_same_end(
    initial: Json,
    one: Json,
    other: Json,
    tables: Sequence[Table] = (),
    verifier: Verifier | None = None,
) -> bool:
    """Compares tables by their column policies. This code repeats those policies, so that verifiers
    are not measured with the code that derives them."""
    if verifier is not None and (verifier.free or verifier.worded):
        one, other = (_blank_texts(initial, end, verifier) for end in (one, other))
    if one == other:
        return True
    if tables:
        return _settle_tables(tables, initial, one) == _settle_tables(tables, initial, other)
    return outline(initial, one) == outline(initial, other)


def is_exempt(
    tables: Sequence[Table], path: Sequence[str], verifier: Verifier | None = None
) -> bool:
    """Whether a path leads to an exempt column, or to a text that the verifier leaves open."""
    if (
        verifier is not None
        and len(path) > 2
        and f"{path[0]}.{path[2]}" in (*verifier.free, *verifier.worded)
    ):
        return True
    columns = {
        (table.name, column.name): column.policy for table in tables for column in table.columns
    }
    return len(path) > 2 and columns.get((path[0], path[2])) == "exempt"


def _blank_texts(initial: Json, final: Json, verifier: Verifier) -> Json:
    """The final state with texts masked that the verifier leaves open, in rows that changed."""
    settled: dict[str, Json] = dict(final)
    for place in (*verifier.free, *verifier.worded):
        table, _, column = place.partition(".")
        old: Mapping[str, Json] = initial.get(table) or {}
        settled[table] = {
            key: {**row, column: _MASK}
            if row != old.get(key) and (place in verifier.free or row.get(column))
            else row
            for key, row in settled[table].items()
        }
    return settled


def _settle_tables(tables: Sequence[Table], initial: Json, final: Json) -> Json:
    """A canonical form of the tables: exempt columns are masked, and new rows are identified by
    their content and references."""
    known = {table.name: table for table in tables}
    fresh = {
        name: {key: row for key, row in rows.items() if key not in initial.get(name, {})}
        for name, rows in final.items()
    }

    def describe_row(name: str, row: Mapping[str, Json], depth: int) -> Json:
        return {
            column.name: describe_value(column, row.get(column.name), depth)
            for column in known[name].columns
        }

    def describe_value(column: Column, value: Json, depth: int) -> Json:
        home = column.references.partition(".")[0]
        if column.policy == "exempt":
            return _MASK
        if depth and value is not None and str(value) in fresh.get(home, {}):
            return describe_row(home, fresh[home][str(value)], depth - 1)
        if column.policy == "semantic" and isinstance(value, str):
            return normalise(value).split()
        if column.policy == "tolerance" and isinstance(value, int | float):
            return round(float(value) / column.tolerance / 2)
        return value

    settled: dict[str, Json] = {}
    for name, rows in final.items():
        old: Mapping[str, Json] = initial.get(name, {})
        settled[name] = {
            key: row if row == old[key] else describe_row(name, row, _DEPTH)
            for key, row in rows.items()
            if key in old
        }
        settled[f"{name}{_MASK}"] = sorted(
            canonical_json(describe_row(name, row, _DEPTH)) for row in fresh[name].values()
        )
    return settled


def list_generated(initial: Json, final: Json) -> frozenset[str]:
    """Keys that the program generated."""
    return frozenset(_list_new_keys(initial, final))


def _list_new_keys(before: Json, after: Json) -> Iterator[str]:
    if is_object(after):
        known: Mapping[str, Json] = before if is_object(before) else {}
        for key, value in after.items():
            if is_object(before) and key not in known and is_object(value):
                yield key
            if key in known:
                yield from _list_new_keys(known[key], value)
    elif is_array(after):
        known_ids = (
            {row.get("id") for row in before if is_object(row)} if is_array(before) else set[Json]()
        )
        yield from (
            row["id"]
            for row in after
            if is_object(row) and isinstance(row.get("id"), str) and row["id"] not in known_ids
        )


def _mask(value: Json, masked: frozenset[str]) -> Json:
    if is_object(value):
        plain = {key: _mask(one, masked) for key, one in value.items() if key not in masked}
        strange = sorted(
            canonical_json(_mask(one, masked)) for key, one in value.items() if key in masked
        )
        return {**plain, _MASK: strange} if strange else plain
    if is_array(value):
        return [_mask(one, masked) for one in value]
    return _MASK if isinstance(value, str) and value in masked else value
