"""References of new rows that depend on the order of a reference path's changes, found by making a
change before an earlier one.

a change moved forward ──► the same end, but references of new rows have changed places ──► the verifier leaves these columns open

A program that numbers what it makes (`C-0057`) gives other numbers in another order. An agent that
makes the same changes in another order is right, unless somebody speaks of the numbers.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from envmill.kinds.authoring.columns import is_pointer
from envmill.kinds.loosening import LooseArgument, play_calls
from envmill.kinds.start import start
from envmill.sandbox import Sandbox
from envmill.verifiers.ending import Ending
from envmill.verifiers.pattern import EXEMPT
from schemas.base import Json, canonical_json, is_object
from schemas.database import Table
from schemas.environment import Call, Environment
from schemas.scenario import Draft

MOVES = 12
"""Number of other orders that are played."""
_REFERENCE = re.compile(r"(?=.*[A-Za-z])(?=.*\d)[\w/.-]+")
"""Letters and digits without a blank. Other texts that depend on the order, such as who gets the
last seat and who waits, may be what is wanted."""
_MASK = "#"


async def find_numbered(
    draft: Draft, environment: Environment, ends: tuple[Ending, Ending], sandbox: Sandbox
) -> list[LooseArgument]:
    """One entry for each column. Nothing where the request, the answer or a call has such a text."""
    here, elsewhere = ends
    if draft.polarity != "achieve":
        return []
    columns = set[tuple[str, str]]()
    for calls in islice(_reorder(draft, environment), MOVES):
        other = await play_calls(environment, calls, start(draft), sandbox)
        columns |= find_exchanged(here, other, environment.tables) if other is not None else set()
    spoken = canonical_json([draft.request, draft.say, *(one.model_dump() for one in draft.tell)])
    spoken += canonical_json([call.arguments for call in draft.oracle])
    return [
        LooseArgument({EXEMPT: True}, _list_places(here, place), _list_places(elsewhere, place))
        for place in sorted(columns)
        if not any(str(row.get(place[1])) in spoken for row in list_new(here, place[0]).values())
    ]


def find_exchanged(right: Ending, other: Json, tables: Sequence[Table]) -> set[tuple[str, str]]:
    """(table, column) of texts that new rows have in another order, where both ends are the same but
    for these."""
    swapped = Ending(right.initial, other, (), "")
    candidates = {
        (table, column)
        for table in right.final
        for column in _list_texts(right, table)
        if not is_pointer(tables, (table, "", column))
        and _gather(right, table, column) == _gather(swapped, table, column)
    }
    if not candidates or _outline(right, tables, candidates) != _outline(
        swapped, tables, candidates
    ):
        return set()
    return {
        place
        for place in candidates
        if _outline(right, tables, candidates - {place})
        != _outline(swapped, tables, candidates - {place})
    }


def list_new(ending: Ending, table: str) -> Mapping[str, Mapping[str, Json]]:
    """Rows of the table that were not there at the start."""
    rows, known = ending.final.get(table), ending.initial.get(table)
    if not is_object(rows):
        return {}
    old: Collection[str] = known if is_object(known) else ()
    return {key: row for key, row in rows.items() if key not in old and is_object(row)}


def _reorder(draft: Draft, environment: Environment) -> Iterator[list[Call]]:
    """The path with one change made before an earlier change. Two that are not neighbours count as
    well, because what stands between them may need the first."""
    changes = {tool.name for tool in environment.tools if tool.effect == "change"}
    places = [place for place, call in enumerate(draft.oracle) if call.name in changes]
    for number, later in enumerate(places):
        for earlier in reversed(places[:number]):
            calls = list(draft.oracle)
            calls.insert(earlier, calls.pop(later))
            yield calls


def _list_texts(ending: Ending, table: str) -> set[str]:
    """Columns in which at least two new rows have references, and no two rows of the table the
    same."""
    new, rows = list_new(ending, table), ending.final[table]
    if len(new) < 2:
        return set()
    return {
        column
        for column in next(iter(new.values()))
        if all(_REFERENCE.fullmatch(str(row.get(column))) for row in new.values())
        and len({str(row.get(column)) for row in rows.values()}) == len(rows)
    }


def _gather(ending: Ending, table: str, column: str) -> list[str]:
    return sorted(str(row.get(column)) for row in list_new(ending, table).values())


def _outline(ending: Ending, tables: Sequence[Table], masked: Collection[tuple[str, str]]) -> str:
    """The end without keys of new rows and without these columns of new rows."""
    fresh = {key for table in ending.final for key in list_new(ending, table)}

    def describe(table: str, row: Json, *, new: bool) -> Json:
        if not is_object(row):
            return row
        return {
            column: _MASK
            if (new and (table, column) in masked)
            or (is_pointer(tables, (table, "", column)) and str(value) in fresh)
            else value
            for column, value in row.items()
        }

    outline: dict[str, Json] = {}
    for table, rows in ending.final.items():
        new = list_new(ending, table)
        if not is_object(rows):
            outline[table] = rows
            continue
        outline[table] = [
            {key: describe(table, row, new=False) for key, row in rows.items() if key not in new},
            sorted(canonical_json(describe(table, row, new=True)) for row in new.values()),
        ]
    return canonical_json(outline)


def _list_places(ending: Ending, place: tuple[str, str]) -> tuple[tuple[str, str, str], ...]:
    table, column = place
    return tuple((table, key, column) for key in list_new(ending, table))
