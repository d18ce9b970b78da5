"""What replies quote of rows: the values of a row that a reply names are those that the state holds after the call.

{"id": "H1", "hive_id": "V3", "hive_status": "weak"}  ─► hives.V3.status
"""

from collections.abc import Iterator, Mapping, Sequence

from envmill.gates.rows import Row, list_objects
from envmill.gates.stops import Stop, Tour
from schemas.base import Json, is_object

_CENT = 0.01
"""Numbers may be told rounded."""


def find_misquote(stop: Stop, tour: Tour) -> str:
    """The first value that is told otherwise than the row holds it; empty where all agree."""
    if stop.after not in tour.states:
        return ""
    rows = _index(tour.rows(stop.after))
    given = {name: value for name, value in stop.call.arguments.items() if isinstance(value, str | int)}
    tops = [part.get("value") for part in stop.seen.parts]
    wrong, right = dict[tuple[str, str], str](), set[tuple[str, str]]()
    for told in list_objects(stop.seen.parts):
        named = given | dict(told) if any(told is top for top in tops) else told
        for value, row, attribute in _list_quotes(told, named, rows, own=not tour.is_query(stop.call.name)):
            place = f"{row.collection}.{row.key}", attribute
            if _agree(value, row.value[attribute]):
                right.add(place)
            else:
                wrong.setdefault(place, f"{attribute} of {place[0]} as {value!r}, and it is {row.value[attribute]!r}")
    # Who is told of both, before and after, knows the truth.
    return next((words for place, words in wrong.items() if place not in right), "")


def _list_quotes(
    told: Mapping[str, Json], named: Mapping[str, Json], rows: Mapping[str, Sequence[Row]], *, own: bool
) -> Iterator[tuple[Json, Row, str]]:
    """(value, row, attribute): of the row that is told, and of those it names. What a row keeps itself is its own, whatever it names."""
    told_row = _find_row(told.get("id"), "", rows)
    pointed = {stem: row for stem, row in list_pointed(named, rows)}
    for name, value in told.items():
        if value is None or name.endswith("id") or not isinstance(value, str | int | float):
            continue
        if told_row and name in told_row.value:
            if own:
                yield value, told_row, name
            continue
        quoted = [(row, name.removeprefix(f"{stem}_")) for stem, row in pointed.items() if name.startswith(f"{stem}_")]
        found = [(row, attribute) for row, attribute in quoted if attribute in row.value]
        if len(found) == 1:
            yield value, *found[0]


def list_pointed(named: Mapping[str, Json], rows: Mapping[str, Sequence[Row]]) -> Iterator[tuple[str, Row]]:
    """Rows by what their values may be told under: `from_member`, and `from` and `member` where no other name has that word there. A stem
    that is the collection's whole name (`credit_entry` of `credit_entries`) has no such parts."""
    stems = {name.removesuffix("_id"): value for name, value in named.items() if name.endswith("_id")}
    for stem, value in stems.items():
        row = _find_row(value, stem, rows)
        first, last = stem.split("_")[0], stem.split("_")[-1]
        if row:
            yield stem, row
        if row and not row.collection.startswith(stem[:-1]):
            if first != stem and sum(other.split("_")[0] == first for other in stems) == 1:
                yield first, row
            if last not in (stem, first) and sum(other.split("_")[-1] == last for other in stems) == 1:
                yield last, row


def _index(rows: Sequence[Row]) -> Mapping[str, Sequence[Row]]:
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.key, []).append(row)
    return found


def _find_row(key: Json, stem: str, rows: Mapping[str, Sequence[Row]]) -> Row | None:
    """The only row of that key; of several, the one whose collection is named like what points there."""
    found = rows.get(str(key), ()) if isinstance(key, str | int) else ()
    if len(found) > 1:
        found = [row for row in found if stem and row.collection.startswith(stem.split("_")[-1].removesuffix("y"))]
    return found[0] if len(found) == 1 and is_object(found[0].value) else None


def _agree(told: Json, held: Json) -> bool:
    """Of different types nothing is known: the one may be spelled or counted otherwise."""
    if isinstance(told, int | float) and isinstance(held, int | float):
        return abs(told - held) <= _CENT
    if isinstance(told, str) and isinstance(held, str):
        return told.strip().casefold() == held.strip().casefold()
    return True
