"""Compares the values in a reply with the rows it names, as they are after the call.

{"id": "H1", "hive_id": "V3", "hive_status": "weak"}  ─► hives.V3.status
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.rows import StateRow, list_objects
from schemas.base import Json, is_object

_CENT = 0.01
"""Replies may round numbers."""


@dataclass(frozen=True)
class WrongQuote:
    """A value in a reply that differs from the row it seems to describe."""

    name: str
    """Name in the reply."""
    told: Json
    row: StateRow
    attribute: str

    @property
    def words(self) -> str:
        """Text for the ledger."""
        return (
            f"{self.attribute} of {self.row.collection}.{self.row.key} as {self.told!r}, and it "
            f"is {self.row.value[self.attribute]!r}"
        )

    @property
    def observed(self) -> str:
        """Text for a judge: only the record's value, and not whether the reply is wrong."""
        row, held = self.row, self.row.value[self.attribute]
        return (
            f"After the call, `{self.attribute}` of record {row.key} in `{row.collection}` was "
            f"{held!r}."
        )


def find_misquote(observed: ObservedCall, exploration: ExplorationRun) -> WrongQuote | None:
    """The first value that differs from the row."""
    if observed.after not in exploration.states:
        return None
    rows = _index(exploration.rows(observed.after))
    given = {
        name: value
        for name, value in observed.call.arguments.items()
        if isinstance(value, str | int)
    }
    tops = [part.get("value") for part in observed.seen.parts]
    wrong, right = dict[tuple[str, str], WrongQuote](), set[tuple[str, str]]()
    for told in list_objects(observed.seen.parts):
        named = given | dict(told) if any(told is top for top in tops) else told
        for name, row, attribute in _list_quotes(
            told, named, rows, own=not exploration.is_query(observed.call.name)
        ):
            place = f"{row.collection}.{row.key}", attribute
            if _agree(told[name], row.value[attribute]):
                right.add(place)
            else:
                wrong.setdefault(place, WrongQuote(name, told[name], row, attribute))
    # A reply that contains both the earlier and the later value is right.
    return next((misquote for place, misquote in wrong.items() if place not in right), None)


def _list_quotes(
    told: Mapping[str, Json],
    named: Mapping[str, Json],
    rows: Mapping[str, Sequence[StateRow]],
    *,
    own: bool,
) -> Iterator[tuple[str, StateRow, str]]:
    """(name in the reply, row, attribute) for the row that the reply describes, and for rows it
    refers to.

    An attribute of the described row itself is never taken for one of a row it refers to.
    """
    told_row = _find_row(told.get("id"), "", rows)
    pointed = {stem: row for stem, row in list_pointed(named, rows)}
    for name, value in told.items():
        if value is None or name.endswith("id") or not isinstance(value, str | int | float):
            continue
        if told_row and name in told_row.value:
            if own:
                yield name, told_row, name
            continue
        quoted = [
            (row, name.removeprefix(f"{stem}_"))
            for stem, row in pointed.items()
            if name.startswith(f"{stem}_")
        ]
        found = [(row, attribute) for row, attribute in quoted if attribute in row.value]
        if len(found) == 1:
            yield name, *found[0]


def list_pointed(
    named: Mapping[str, Json], rows: Mapping[str, Sequence[StateRow]]
) -> Iterator[tuple[str, StateRow]]:
    """Rows by the prefixes of their values in a reply: `from_member`, and also `from` or `member`
    if no other name has that word there. A stem that is the collection's whole name (`credit_entry`
    of `credit_entries`) is not split."""
    stems = {
        name.removesuffix("_id"): value for name, value in named.items() if name.endswith("_id")
    }
    for stem, value in stems.items():
        row = _find_row(value, stem, rows)
        first, last = stem.split("_")[0], stem.split("_")[-1]
        if row:
            yield stem, row
        if row and not row.collection.startswith(stem[:-1]):
            if first != stem and sum(other.split("_")[0] == first for other in stems) == 1:
                yield first, row
            if (
                last not in (stem, first)
                and sum(other.split("_")[-1] == last for other in stems) == 1
            ):
                yield last, row


def _index(rows: Sequence[StateRow]) -> Mapping[str, Sequence[StateRow]]:
    found: dict[str, list[StateRow]] = {}
    for row in rows:
        found.setdefault(row.key, []).append(row)
    return found


def _find_row(key: Json, stem: str, rows: Mapping[str, Sequence[StateRow]]) -> StateRow | None:
    """The only row with this key; of several, the one whose collection resembles the name of the
    reference."""
    found = rows.get(str(key), ()) if isinstance(key, str | int) else ()
    if len(found) > 1:
        found = [
            row
            for row in found
            if stem and row.collection.startswith(stem.split("_")[-1].removesuffix("y"))
        ]
    return found[0] if len(found) == 1 and is_object(found[0].value) else None


def _agree(told: Json, held: Json) -> bool:
    """Whether two values agree. Values of different types always do: one of them may be in another
    format or unit."""
    if isinstance(told, int | float) and isinstance(held, int | float):
        return abs(told - held) <= _CENT
    if isinstance(told, str) and isinstance(held, str):
        return told.strip().casefold() == held.strip().casefold()
    return True
