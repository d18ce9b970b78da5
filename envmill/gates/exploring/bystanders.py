"""What a change does to rows that nobody named: a change of one row leaves all others of its table
as they are."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.relations import BrokenRelation
from envmill.gates.mutating.syntax import list_nodes
from schemas.base import Json, is_object
from schemas.environment import Environment
from schemas.scenario import Change

_UPDATE = re.compile(r"\s*UPDATE\s+[\"'`\[]?(?P<table>\w+)", re.IGNORECASE)
_WHERE = re.compile(r"\bWHERE\b", re.IGNORECASE)
_FEWEST = 2
"""Number of other rows with the same change. A single one may be the row that this one is exchanged
with."""


def others_are_left_alone(
    built: EnvironmentCase, exploration: ExplorationRun
) -> Iterator[BrokenRelation]:
    """The call names one row, or a row that refers to it, and every row of that table gets the same
    value: the statement lacks its condition."""
    bare = _list_bare_updates(built.environment)
    for observed in exploration.writes():
        called = {value for value in observed.call.arguments.values() if isinstance(value, str)}
        for (table, column), changes in _group(exploration.diff(observed)).items():
            statement = next((text for text in bare if _sets(text, table, column)), "")
            named = _find_named(exploration.states[observed.before], called, changes, statement)
            told = [one for one in changes if one.path[1] in named]
            others = [
                one for one in changes if one.path[1] not in named and one.after == changes[0].after
            ]
            if (
                len(told) != 1
                or told[0].after != changes[0].after
                or len(others) < (1 if statement else _FEWEST)
            ):
                continue
            rows = exploration.states[observed.after][table]
            parents = called if statement else named
            if all(_holds(row, column, told[0].after) for row in rows.values()) and not any(
                _refers(rows[one.path[1]], parents, column) for one in others
            ):
                words = (
                    f"{observed.call.name} means one row of {table}, and sets {column} to "
                    f"{told[0].after!r} in every one"
                )
                sure = statement and (named is called or _is_amount(told[0].after))
                reason = "every_row_changed" if sure else "rows_changed_alike"
                yield BrokenRelation(
                    reason, words, _describe(observed, changes) | {"statement": statement}
                )


def others_are_not_changed_instead(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """The named row stays as it is, and every other row of its table gets the same value: the
    condition is inverted."""
    for observed in exploration.writes():
        called = {value for value in observed.call.arguments.values() if isinstance(value, str)}
        changes = exploration.diff(observed)
        for (table, column), sets in _group(changes).items():
            rows, value = exploration.states[observed.after][table], sets[0].after
            named = called & rows.keys()
            others = [row for key, row in rows.items() if key not in named]
            if (
                len(named) != 1
                or len(sets) < _FEWEST
                or any(change.path[:2] == [table, *named] for change in changes)
            ):
                continue
            if _holds(rows[next(iter(named))], column, value) or not all(
                _holds(row, column, value) for row in others
            ):
                continue
            if any(_refers(row, named, column) for row in others):
                continue
            asked = value in (
                observed.call.arguments.get(column),
                observed.call.arguments.get(f"new_{column}"),
            )
            words = (
                f"{observed.call.name} leaves the row of {table} that it names as it is, and sets "
                f"{column} to {value!r} in all others"
            )
            yield BrokenRelation(
                "value_set_elsewhere" if asked else "others_changed_instead",
                words,
                _describe(observed, sets),
            )


def _find_named(state: Json, called: set[str], changes: list[Change], statement: str) -> set[str]:
    """Keys of rows that the call means: those it names, else those that these refer to, else, where
    a statement without a condition asks for a second look, those that the latter refer to."""
    named = called
    for _ in range(2 if statement else 1):
        if any(one.path[1] in named for one in changes):
            break
        named = _list_owners(state, named)
    return named


def _list_owners(state: Json, called: set[str]) -> set[str]:
    """Values of named rows, among them the keys they refer to."""
    rows = (
        row
        for table in state.values()
        if is_object(table)
        for key, row in table.items()
        if key in called and is_object(row)
    )
    return {value for row in rows for value in row.values() if isinstance(value, str)}


def _is_amount(value: Json) -> bool:
    """A number that one row alone explains. A word, a yes or no, or nothing left may be meant for all
    rows: an alarm is raised in every room."""
    return isinstance(value, int | float) and value not in (0, 1)


def _group(changes: list[Change]) -> Mapping[tuple[str, str], list[Change]]:
    """Values that were set, by table and column."""
    found = defaultdict[tuple[str, str], list[Change]](list)
    for change in changes:
        if change.op == "set" and len(change.path) == 3:
            found[change.path[0], change.path[2]].append(change)
    return found


def _holds(row: Json, column: str, value: Json) -> bool:
    return is_object(row) and row.get(column) == value


def _refers(row: Json, named: set[str], column: str) -> bool:
    """Whether another column of the row refers to a named row. Rows below a named row may change
    with it."""
    return is_object(row) and any(
        isinstance(value, str) and value in named for name, value in row.items() if name != column
    )


def _list_bare_updates(environment: Environment) -> list[str]:
    """Statements that the program hands to a call whole, and that update all rows of a table. A
    text that is put together, or kept for later, may get its condition elsewhere."""
    texts = [
        argument.value
        for _, nodes in list_nodes(environment)
        for node in nodes or ()
        if isinstance(node, ast.Call)
        for argument in node.args
        if isinstance(argument, ast.Constant) and isinstance(argument.value, str)
    ]
    return [text for text in texts if _UPDATE.match(text) and not _WHERE.search(text)]


def _sets(statement: str, table: str, column: str) -> bool:
    updated = _UPDATE.match(statement)
    return (
        updated is not None
        and updated["table"].lower() == table.lower()
        and re.search(rf"\b{re.escape(column)}\W*=", statement, re.IGNORECASE) is not None
    )


def _describe(observed: ObservedCall, changes: list[Change]) -> dict[str, Json]:
    return {"call": observed.call.model_dump(), "changed": [one.path for one in changes][:5]}
