"""Numbers that a program assigns to new rows: no other row may already have them."""

import re
from collections.abc import Iterator, Mapping

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.observations import ExplorationRun
from envmill.gates.exploring.relations import BrokenRelation
from envmill.gates.exploring.rows import list_scalars
from schemas.base import Json, is_object

_FEWEST = 3
"""Number of rows with different numbers before a repeated one is a fault: two may differ by
chance."""
_TIME = re.compile(r"\d{4}-\d\d-\d\d|\d\d?:\d\d")


def numbers_are_new(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A column holds a different number in every row. A new row gets a number of another row,
    although neither the caller nor another table contains it."""
    for observed in exploration.writes():
        state, given = (
            exploration.states[observed.before],
            set(map(str, list_scalars(observed.call.arguments))),
        )
        for change in exploration.diff(observed):
            if change.op != "add" or len(change.path) != 2 or not is_object(change.after):
                continue
            table, key = change.path
            for name, value in change.after.items():
                if (
                    isinstance(value, str)
                    and value not in {key, *given}
                    and _is_taken(state, table, name, value)
                ):
                    words = (
                        f"{observed.call.name} gives a new row of {table} the {name} {value!r}, "
                        "which another row has"
                    )
                    yield BrokenRelation(
                        "number_taken",
                        words,
                        {"call": observed.call.model_dump(), "change": change.model_dump()},
                    )


def _is_taken(state: Mapping[str, Json], table: str, name: str, value: str) -> bool:
    rows: Json = state.get(table)
    if not is_object(rows) or value in rows:
        return False
    held = [row[name] for row in rows.values() if is_object(row) and row.get(name)]
    numbered = all(
        isinstance(one, str) and any(map(str.isdigit, one)) and not _TIME.search(one)
        for one in held
    )
    elsewhere = (
        one for other, rows in state.items() if other != table for one in list_scalars(rows)
    )
    return (
        numbered
        and value in held
        and len(set(held)) == len(held) >= _FEWEST
        and value not in elsewhere
    )
