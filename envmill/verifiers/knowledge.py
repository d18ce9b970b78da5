"""What an oracle learned: the rows its replies told it of, as predicates that any other route to the same rows fulfils too.

replies ──► rows of the state they tell ──► those that mattered ──► `seen`: one reply holds the row's key, and what was told of it
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.verifiers.ending import Deed
from envmill.verifiers.told import list_leaves
from schemas.base import Json, is_array, is_object
from schemas.environment import Call
from schemas.scenario import CallPattern, Fact, Predicate

_LEAST_AGREEMENT = 2
"""Fields in which a reply and a row agree before the one is taken to tell of the other."""
_MOST_ROWS = 12
"""Rows of one reply that are asked for, where none of them mattered more than the others."""


@dataclass(frozen=True)
class _Row:
    collection: str
    key: str
    fields: Mapping[str, Json]
    keyed: bool
    """Whether the reply shows the key."""

    @property
    def name(self) -> str:
        return f"{self.collection}.{self.key}"


def derive_knowledge(state: Mapping[str, Json], deeds: Sequence[Deed], reads: Collection[str], facts: Sequence[Fact]) -> list[Predicate]:
    """What must have been seen. Where no reply tells of a row, the last read itself is required: absence shows in nothing else."""
    told = {fact.value for fact in facts if isinstance(fact.value, str | int | float)}
    seen: dict[str, Predicate] = {}
    for place, deed in enumerate(deeds):
        if deed.outcome == "ok" and deed.call.name in reads:
            later = {leaf for one in deeds[place + 1 :] for leaf in _list_values(one.call)}
            for row in _pick(list(_find_rows(state, deed)), deed, later, told):
                seen.setdefault(row.name, _ask_for(row, told))
    return list(seen.values()) or [_require(deed.call) for deed in deeds if deed.outcome == "ok" and deed.call.name in reads][-1:]


def _pick(rows: list[_Row], deed: Deed, later: Collection[Json], told: Collection[Json]) -> list[_Row]:
    """The only row; or those that were used or told of later; or, of what was asked for by arguments, all."""
    if len(rows) <= 1:
        return rows
    mattered = [row for row in rows if row.key in later or any(value in told for value in _list_texts(row))]
    return mattered or (rows if deed.call.arguments and len(rows) <= _MOST_ROWS else [])


def _ask_for(row: _Row, told: Collection[Json]) -> Predicate:
    known: list[Json] = [row.key] if row.keyed else list(row.fields.values())
    more = [value for value in row.fields.values() if value in told and not isinstance(value, bool) and value not in known]
    return Predicate(name=f"{row.name} was looked at", op="seen", call=CallPattern(name=""), shows=[*known, *more])


def _require(call: Call) -> Predicate:
    return Predicate(name=f"{call.name} was asked", op="required", call=CallPattern(name=call.name, arguments=call.arguments))


def _find_rows(state: Mapping[str, Json], deed: Deed) -> Iterator[_Row]:
    """Rows of the state that a reply tells of, each once."""
    found: set[str] = set()
    for part in deed.parts:
        for key, told in _list_objects(part.get("value") if is_object(part) else part, ""):
            row = _recognise(state, key, told)
            if row is not None and row.name not in found:
                found.add(row.name)
                yield row


def _recognise(state: Mapping[str, Json], key: str, told: Mapping[str, Json]) -> _Row | None:
    """The row that agrees best with what is told; one whose key is shown, if there is one."""
    plain = {name: value for name, value in told.items() if not is_object(value) and not is_array(value)}
    shown = {key, *(value for value in plain.values() if isinstance(value, str))}
    rows = [(name, row_id, row) for name, rows in state.items() if is_object(rows) for row_id, row in rows.items() if is_object(row)]
    best = max((_match(*row, plain, shown) for row in rows), key=lambda one: (one.keyed, len(one.fields)), default=None)
    return best if best is not None and len(best.fields) >= min(_LEAST_AGREEMENT, len(plain)) > 0 else None


def _match(collection: str, key: str, row: Mapping[str, Json], plain: Mapping[str, Json], shown: Collection[str]) -> _Row:
    agreed = {name: value for name, value in plain.items() if name in row and row[name] == value and value is not None}
    # A foreign key shows another row's key, and nothing of that row.
    return _Row(collection, key, agreed, key in shown and len(agreed) >= min(_LEAST_AGREEMENT, len(plain)))


def _list_objects(value: Json, key: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Objects of a reply, each with the key it stands under."""
    if is_object(value):
        yield key, value
        for name, inner in value.items():
            yield from _list_objects(inner, name)
    elif is_array(value):
        for inner in value:
            yield from _list_objects(inner, "")


def _list_values(call: Call) -> Iterator[Json]:
    return (leaf for leaf in list_leaves(call.arguments) if isinstance(leaf, str | int | float))


def _list_texts(row: _Row) -> Iterator[Json]:
    return (value for value in row.fields.values() if isinstance(value, str | int | float) and not isinstance(value, bool))
