"""States read as collections of rows, whatever they are keyed by, and replies read as rows with
ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.base import Json, canonical_json, is_array, is_object
from schemas.database import Table


@dataclass(frozen=True)
class StateRow:
    """One row of a state."""

    collection: str
    key: str
    value: Mapping[str, Json]


def list_rows(state: Json) -> Iterator[StateRow]:
    """Objects of every collection: under their key, or in a list under their own id."""
    for collection, held in state.items() if is_object(state) else ():
        if is_object(held):
            yield from (
                StateRow(collection, key, value) for key, value in held.items() if is_object(value)
            )
        elif is_array(held):
            yield from (
                StateRow(collection, find_id(value), value)
                for value in held
                if is_object(value) and find_id(value)
            )


def find_id(row: Mapping[str, Json]) -> str:
    """What a row calls itself: its `id`, or the first attribute that ends so; empty when it has
    none."""
    if isinstance(row.get("id"), str):
        return row["id"]
    return next(
        (value for name, value in row.items() if name.endswith("_id") and isinstance(value, str)),
        "",
    )


def list_keys(state: Json) -> dict[str, list[str]]:
    """Collection → keys of its rows."""
    keys: dict[str, list[str]] = {}
    for row in list_rows(state):
        keys.setdefault(row.collection, []).append(row.key)
    return keys


def list_told(parts: Json) -> Iterator[Mapping[str, Json]]:
    """Every object of a reply that names itself by an `id`, however deep."""
    for value in _walk(parts):
        if is_object(value) and isinstance(value.get("id"), str):
            yield value


def list_objects(parts: Json) -> Iterator[Mapping[str, Json]]:
    """Every object of a reply, however deep."""
    yield from (value for value in _walk(parts) if is_object(value))


def list_placed(
    parts: Json, tables: Sequence[Table]
) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    """(table, key, row) of what a reply tells. Texts are ids anywhere, and their table is left
    empty; a number is one where the row shows
    every column of one table and of no other."""
    for value in _walk(parts):
        if not is_object(value):
            continue
        key = value.get("id")
        if isinstance(key, str):
            yield "", key, value
        elif isinstance(key, int) and not isinstance(key, bool):
            homes = [
                table.name
                for table in tables
                if table.key == ["id"] and value.keys() >= {column.name for column in table.columns}
            ]
            if len(homes) == 1:
                yield homes[0], str(key), value


def list_scalars(value: Json) -> Iterator[Json]:
    """Texts, numbers and keys anywhere in a value."""
    left: list[Json] = [value]
    while left:
        one: Json = left.pop()
        # Whole states are walked: a function asked for each value would take as long as the rest.
        kind = type(one)  # pyright: ignore[reportUnknownVariableType]
        if kind is dict:
            yield from one
            left.extend(one.values())
        elif kind is list:
            left.extend(one)
        else:
            yield one


def turn_rows(state: Json) -> Json:
    """The same state with the rows of every keyed collection in the other order: as JSON it is
    equal."""
    return {
        name: dict(reversed(held.items())) if is_object(held) else held
        for name, held in state.items()
    }


def render_unordered(value: Json) -> str:
    """A value as JSON in which the order of lists does not show."""
    return canonical_json(_settle(value))


def _settle(value: Json) -> Json:
    if is_array(value):
        return sorted((_settle(one) for one in value), key=canonical_json)
    return {key: _settle(one) for key, one in value.items()} if is_object(value) else value


def _walk(value: Json) -> Iterator[Json]:
    left: list[Json] = [value]
    while left:
        one: Json = left.pop()
        yield one
        kind = type(one)  # pyright: ignore[reportUnknownVariableType]
        if kind is dict:
            left.extend(one.values())
        elif kind is list:
            left.extend(one)
