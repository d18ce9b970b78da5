"""Reads states as collections of rows, and replies as rows with ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from schemas.base import Json, canonical_json, is_array, is_object
from schemas.database import Table


@dataclass(frozen=True)
class StateRow:
    collection: str
    key: str
    value: Mapping[str, Json]


def list_rows(state: Json) -> Iterator[StateRow]:
    """Objects of every collection with their key, or in a list with their own id."""
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
    """The row's `id`, or its first attribute whose name ends in `_id`; empty if there is none."""
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
    """All objects of a reply that have a text as `id`."""
    for value in _walk(parts):
        if is_object(value) and isinstance(value.get("id"), str):
            yield value


def list_objects(parts: Json) -> Iterator[Mapping[str, Json]]:
    """All objects of a reply."""
    yield from (value for value in _walk(parts) if is_object(value))


def list_placed(
    parts: Json, tables: Sequence[Table]
) -> Iterator[tuple[str, str, Mapping[str, Json]]]:
    """(table, key, row) for the rows in a reply. A text as `id` needs no table, so its table is
    empty. A number counts if the row has all columns of exactly one table."""
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
        # This walks whole states: a function call for each value would double the time.
        kind = type(one)  # pyright: ignore[reportUnknownVariableType]
        if kind is dict:
            yield from one
            left.extend(one.values())
        elif kind is list:
            left.extend(one)
        else:
            yield one


def turn_rows(state: Json) -> Json:
    """The state with the rows of every keyed collection in the opposite order. As JSON it is
    equal."""
    return {
        name: dict(reversed(held.items())) if is_object(held) else held
        for name, held in state.items()
    }


def render_unordered(value: Json) -> str:
    """A value as JSON in which lists are sorted."""
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
