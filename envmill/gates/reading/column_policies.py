"""Mistakes in column policies that one scenario shows.

a wish that ends in an exempt column · chance in a hard column · a column that is not exempt, but
that the verifier does not check
"""

from collections.abc import Iterator, Sequence

from envmill.gates.reading.known_values import KnownValues, list_leaves, list_told
from envmill.runtime.db.changes import render_key
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.pattern import is_chance
from schemas.base import Json, canonical_json, is_object
from schemas.database import Column, Table
from schemas.scenario import Change, Scenario, Verifier

_SHORTEST = 3
"""Length from which a text is not said by accident."""


def find_exempt_wish(
    tables: Sequence[Table], scenario: Scenario, ending: Ending
) -> tuple[str, str] | None:
    """(reason code, words) if the user says a value that the reference path writes into an exempt
    column, where nothing checks it."""
    told = KnownValues.of(list_told(scenario), int(scenario.clock[:4]))
    used = [leaf for call in scenario.oracle for leaf in list_leaves(call.arguments)]
    for place, _, column, value in _list_cells(tables, diff_states(ending.initial, ending.final)):
        if column.policy == "exempt" and _has_words(value) and value in used and told.holds(value):
            return (
                "exempt_wish",
                f"the request asks for {value!r} in {place}, and the column is exempt: nobody "
                "checks it",
            )
    return None


def list_altered(
    tables: Sequence[Table], right: Ending, other: Ending
) -> Iterator[tuple[str, dict[str, Json]]]:
    """The right final state with one value changed, for each written value that is neither exempt
    nor random."""
    known = {table.name: table for table in tables}
    again = {
        (place, canonical_json(value))
        for place, _, _, value in _list_cells(
            tables, diff_states(other.initial, other.final), keys=True
        )
    }
    for place, path, column, value in _list_cells(
        tables, diff_states(right.initial, right.final), keys=True
    ):
        if column.policy != "exempt" and (place, canonical_json(value)) in again:
            table, key, name = path
            row = right.final[table][key] | {name: _alter(value, column.tolerance)}
            others = {each: kept for each, kept in right.final[table].items() if each != key}
            yield (
                ".".join(path),
                {
                    **right.final,
                    table: {**others, render_key([row[one] for one in known[table].key]): row},
                },
            )


def list_chance(tables: Sequence[Table], verifier: Verifier) -> list[str]:
    """Hard columns with random values. The verifier accepts any value of the type there, so
    `exempt` would be the honest policy."""
    hard = {
        f"{table.name}.{column.name}"
        for table in tables
        for column in table.columns
        if column.policy == "hard"
    }
    found: set[str] = set()
    for goal in verifier.goals:
        if len(goal.path) == 3 and is_chance(goal.value):
            found.add(f"{goal.path[0]}.{goal.path[2]}")
        elif is_object(goal.value) and len(goal.path) < 3:
            found |= {
                f"{goal.path[0]}.{name}" for name, value in goal.value.items() if is_chance(value)
            }
    return sorted(found & hard)


def _list_cells(
    tables: Sequence[Table], changes: Sequence[Change], *, keys: bool = False
) -> Iterator[tuple[str, tuple[str, str, str], Column, Json]]:
    """Every written value with its column and its place. Keys are left out by default."""
    known = {
        (table.name, one.name): one
        for table in tables
        for one in table.columns
        if keys or one.name not in table.key
    }
    for change in changes:
        row: Json = change.after if change.op == "add" and len(change.path) == 2 else {}
        cells = (
            row
            if is_object(row) and row
            else {change.path[2]: change.after}
            if len(change.path) == 3
            else {}
        )
        for name, value in cells.items():
            if column := known.get((change.path[0], name)):
                yield (
                    f"{change.path[0]}.{name}",
                    (change.path[0], change.path[1], name),
                    column,
                    value,
                )


def _alter(value: Json, tolerance: float) -> Json:
    if isinstance(value, int | float):
        return value + 7 + 2 * tolerance  # a count is often only one away from where it began
    return f"{value} (touched)"


def _has_words(value: Json) -> bool:
    if isinstance(value, str):
        return len(value) >= _SHORTEST
    return isinstance(value, int | float) and not isinstance(value, bool)
