"""Candidate answers: every value in the replies that may be the answer, with the words of the
question that it accounts for.

replies ─► tables of rows ─► cells, counts, sums, extremes and their rows ─► CandidateAnswer (value, words, field)
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.reading.known_values import list_leaves, read_day, read_part
from envmill.gates.reading.question import Mask, Question
from schemas.base import Json, is_array, is_object
from schemas.environment import Call

_MOST_ROWS, _MOST_FILTERS = 400, 12
"""Rows read per table, and subsets of them: a question has few words."""


@dataclass(frozen=True)
class CandidateAnswer:
    value: Json
    words: Mask
    """Words of the question that the answer accounts for."""
    own: Mask
    """Those of them that name the field or the operation."""
    what: str
    """Operation and field."""
    where: str
    """Table, or row."""
    table: str


@dataclass
class ReplyRow:
    """One object of a reply."""

    fields: Mapping[str, Json]
    own: Mask
    """Words of the question that describe the object."""
    words: Mask
    """These words, and those that describe rows it refers to."""


@dataclass
class ReplyTable:
    """Objects under the same name in the replies of one tool."""

    name: str
    words: Mask
    """Words that name the table."""
    rows: list[ReplyRow] = field(default_factory=list[ReplyRow])


def read_tables(
    question: Question, calls: Sequence[Call], replies: Sequence[Sequence[Json]], stock: StateIndex
) -> list[ReplyTable]:
    """All tables of the replies. The arguments of a call describe every row of its reply."""
    tables: dict[str, ReplyTable] = {}
    described: dict[str, Mask] = {}
    for call, parts in zip(calls, replies, strict=False):
        asked = 0
        for value in list_leaves(call.arguments):
            asked |= question.mark_value(value) | describe_key(question, value, stock, described)
        for name, fields in (
            found for part in parts for found in list_objects(read_part(part), "")
        ):
            place = f"{call.name}.{name}".rstrip(".")
            table = tables.setdefault(place, ReplyTable(place, question.mark_name(place)))
            if len(table.rows) < _MOST_ROWS:
                own = asked | describe_fields(question, fields, place)
                table.rows.append(
                    ReplyRow(
                        fields, own, own | describe_references(question, fields, stock, described)
                    )
                )
    return list(tables.values())


def list_objects(value: Json, name: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """(name, plain fields) of all objects inside. An object of rows under their keys passes its
    name on to the rows."""
    if is_array(value):
        for one in value:
            yield from list_objects(one, name)
    elif is_object(value):
        plain = {key: one for key, one in value.items() if not is_object(one)}
        if plain:
            yield name, plain
        keyed = not plain and len(value) > 1
        for key, one in value.items():
            yield from (
                list_objects(one, name if keyed else key) if is_object(one) or is_array(one) else ()
            )


def describe_fields(question: Question, fields: Mapping[str, Json], table: str) -> Mask:
    """Words for an object's values and their fields. A number only counts with its field's name, or
    after a label, as in `box 2`."""
    words = 0
    for name, value in fields.items():
        said = 0 if is_array(value) else question.mark_value(value)
        named = question.mark_name(name) if said else 0
        words |= (
            said | named
            if named or not isinstance(value, int | float) or question.is_label(said, table)
            else 0
        )
    return words


def describe_references(
    question: Question, fields: Mapping[str, Json], stock: StateIndex, described: dict[str, Mask]
) -> Mask:
    """Words that describe the rows an object refers to."""
    words = 0
    for value in fields.values():
        words |= describe_key(question, value, stock, described)
    return words


def describe_key(
    question: Question, value: Json, stock: StateIndex, described: dict[str, Mask]
) -> Mask:
    """Words that describe the row with this key, and rows it refers to."""
    if not isinstance(value, str) or not (home := stock.find_home(value)):
        return 0
    if value not in described:
        described[value] = 0
        row = stock.rows[home][value]
        texts = [
            one
            for one in (row.values() if is_object(row) else ())
            if isinstance(one, str) and one != value
        ]
        for one in texts:
            described[value] |= question.mark_value(one) | describe_key(
                question, one, stock, described
            )
    return described[value]


def list_readings(question: Question, tables: Iterable[ReplyTable]) -> Iterator[CandidateAnswer]:
    """Every answer that needs at most one step of calculation."""
    for table in tables:
        for row in table.rows:
            yield from _read_cells(question, table, row)
        for rows in _list_subsets(table):
            yield from _read_together(question, table, rows)


def _read_cells(question: Question, table: ReplyTable, row: ReplyRow) -> Iterator[CandidateAnswer]:
    for name, value in row.fields.items():
        own = question.mark_name(name)
        for one in value if is_array(value) else [value]:
            if _is_plain(one):
                # The value's own words do not count: who asks for a value does not say it.
                yield CandidateAnswer(
                    one,
                    table.words | row.words | own,
                    own,
                    name,
                    f"one of {table.name}",
                    table.name,
                )


def _list_subsets(table: ReplyTable) -> Iterator[list[ReplyRow]]:
    """All rows, and subsets that the same words describe, without or with the rows they refer
    to."""
    seen: set[tuple[int, ...]] = set()
    for masks in ([row.own for row in table.rows], [row.words for row in table.rows]):
        kinds = list(dict.fromkeys([0, *masks]))
        shared = [one & other for one, other in combinations(kinds[:_MOST_FILTERS], 2)]
        for wanted in list(dict.fromkeys([*kinds, *shared]))[:_MOST_FILTERS]:
            places = tuple(place for place, mask in enumerate(masks) if mask & wanted == wanted)
            if places and places not in seen:
                seen.add(places)
                yield [table.rows[place] for place in places]


def _read_together(
    question: Question, table: ReplyTable, rows: list[ReplyRow]
) -> Iterator[CandidateAnswer]:
    """The number of rows, and for each field of numbers or dates the sum, the extremes and their
    rows."""
    words = table.words
    common = rows[0].words
    for row in rows:
        common &= row.words
    words |= common
    counted = question.mark_operation("count")
    yield CandidateAnswer(len(rows), words | counted, counted, "count", table.name, table.name)
    for name in rows[0].fields:
        values = [row.fields.get(name) for row in rows]
        empty = sum(value in (None, "", []) for value in values)
        if counted and 0 < empty < len(rows):
            yield CandidateAnswer(
                empty, words | counted, counted, f"count without {name}", table.name, table.name
            )
            yield CandidateAnswer(
                len(rows) - empty,
                words | counted,
                counted,
                f"count with {name}",
                table.name,
                table.name,
            )
        named = question.mark_name(name)
        numbers = [
            value
            for value in values
            if isinstance(value, int | float) and not isinstance(value, bool)
        ]
        if len(numbers) == len(rows):
            for operation, value in (
                ("sum", round(sum(numbers), 6)),
                ("mean", sum(numbers) / len(numbers)),
            ):
                asked = question.mark_operation(operation)
                own = named | asked if asked else 0
                yield CandidateAnswer(
                    value, words | own, own, f"{operation} of {name}", table.name, table.name
                )
        if len(numbers) == len(rows) or all(read_day(value) for value in values):
            yield from _read_extremes(question, table, rows, name, words)


def _read_extremes(
    question: Question, table: ReplyTable, rows: list[ReplyRow], name: str, words: Mask
) -> Iterator[CandidateAnswer]:
    """The highest and lowest values of a field. If the question asks for one, also the other fields
    of its row."""
    pairs: list[tuple[float | str, ReplyRow]] = [(_rank(row.fields[name]), row) for row in rows]
    timely = not _is_number(rows[0].fields[name])
    for best, often, of_days in ((max, "highest", "last"), (min, "lowest", "first")):
        top = best(rank for rank, _ in pairs)
        holders = [row for rank, row in pairs if rank == top]
        asked = question.mark_operation(often) | (question.mark_operation(of_days) if timely else 0)
        own = question.mark_name(name) | asked if asked else 0
        yield CandidateAnswer(
            holders[0].fields[name], words | own, own, f"{often} {name}", table.name, table.name
        )
        for other, value in holders[0].fields.items() if asked and len(holders) == 1 else ():
            if other != name and _is_plain(value):
                yield CandidateAnswer(
                    value,
                    words | own,
                    own,
                    other,
                    f"the row of {table.name} with the {often} {name}",
                    table.name,
                )


def _rank(value: Json) -> float | str:
    return value if isinstance(value, int | float | str) else str(value)


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)
