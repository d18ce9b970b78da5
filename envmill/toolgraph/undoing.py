"""Undoing: finds two changes of a carried-out chain that together have no effect, such as a record
that is made and deleted again.

the chain as played ──────────┐
the chain without the two ────┴─► the same end ─► nothing to ask for
                                  the same but for new records, others put back ─► perhaps; offered after all others
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from envmill.kinds.start import CLOCK
from schemas.base import Json, canonical_json, is_array, is_object

Place = tuple[str, ...]
Columns = Collection[tuple[str, str]]
"""(table, column)."""
Remainder = Literal["all", "own", "none"]
"""What two changes leave: something, only records of their own, or nothing."""
_TODAY = CLOCK[:10]
_NUMBER = re.compile(r"(?<!\d)\d{1,12}(?!\d)")


@dataclass(frozen=True)
class PlayedCalls:
    """Calls as they were played. There is one state more than replies: the state before the first
    call."""

    states: Sequence[Json]
    replies: Sequence[Json]

    @property
    def end(self) -> Json:
        return self.states[-1]


@dataclass(frozen=True)
class HandedOut:
    """Numbers that a counter may have assigned to new records."""

    made: int
    """Number of new records: no counter advanced further."""
    numbers: frozenset[int]
    """Numbers in the new records, including their keys: `R-0013` holds 13."""

    @classmethod
    def of(cls, states: Sequence[Json]) -> "HandedOut":
        found = {
            path: value
            for state in states[1:]
            for path, value in _list_leaves(state).items()
            if not _stands_in(states[0], path)
        }
        texts = (text for path, value in found.items() for text in (*path, str(value)))
        return cls(
            len({path[:2] for path in found}),
            frozenset(int(one) for text in texts for one in _NUMBER.findall(text)),
        )


def judge_remainder(whole: PlayedCalls, rest: PlayedCalls, first: int, loose: Columns) -> Remainder:
    """Effect of the calls that `whole` has and `rest` lacks; `first` is the first of them. Ignores
    columns in `loose`, times that moved to now, and numbers assigned to new records."""
    start = whole.states[0]
    given = HandedOut.of(whole.states)
    end, other = (_list_leaves(_name_new(state, start)) for state in (whole.end, rest.end))
    if not any(_find_differences(end, other, loose, given)):
        return "none"
    end, other = (_list_old(state, start) for state in (whole.end, rest.end))
    if any(_find_differences(end, other, loose, given)) or not _is_put_back(
        whole.states[first:], loose, given
    ):
        return "all"
    return "own"


def _find_differences(
    one: Mapping[Place, Json], other: Mapping[Place, Json], loose: Columns, given: HandedOut
) -> Iterator[Place]:
    for path in dict.fromkeys([*one, *other]):
        left, right = one.get(path), other.get(path)
        if (path in one) is (path in other) and (
            left == right or _is_loose(path, loose) or _is_volatile(left, right, given)
        ):
            continue
        yield path


def _is_loose(path: Place, loose: Columns) -> bool:
    return len(path) > 2 and (path[0], path[2]) in loose


def _is_volatile(left: Json, right: Json, given: HandedOut) -> bool:
    """Whether the value is a time that moved to now, or a number that was assigned."""
    if isinstance(left, str) and isinstance(right, str):
        return left.startswith(_TODAY) and right[4:5] == _TODAY[4:5]
    return (
        isinstance(left, int)
        and isinstance(right, int)
        and 0 < left - right <= given.made
        and not given.numbers.isdisjoint((left, right))
    )


def _is_put_back(states: Sequence[Json], loose: Columns, given: HandedOut) -> bool:
    """Whether an old record changed on the way and has its first value again."""
    before, end = _list_leaves(states[0]), _list_leaves(states[-1])
    moved = {
        path
        for state in states
        for path in _find_differences(_list_leaves(state), before, loose, given)
    }
    return any(path in before and path in end and before[path] == end[path] for path in moved)


def _list_old(state: Json, start: Json) -> dict[Place, Json]:
    """Values of records that existed at the start; none for an empty table."""
    return {
        path: value
        for path, value in _list_leaves(state).items()
        if value != {} and _stands_in(start, path)
    }


def _stands_in(start: Json, path: Place) -> bool:
    """Whether the record existed at the start."""
    table = start.get(path[0]) if is_object(start) else None
    return table is not None if len(path) < 2 else is_object(table) and path[1] in table


def _name_new(state: Json, start: Json) -> Json:
    """The state with the keys of new records numbered, because a record gets another key if fewer
    records were made before it."""
    if not is_object(state):
        return state
    new = [(table, key, row) for table, held in state.items() if is_object(held) for key, row in held.items()
           if not _stands_in(start, (table, key))]  # fmt: skip
    blank = {key: "new" for _, key, _ in new}
    ranked = sorted(new, key=lambda one: (one[0], canonical_json(_rename(one[2], blank))))
    return _rename(state, {key: f"new {number}" for number, (_, key, _) in enumerate(ranked)})


def _rename(value: Json, names: Mapping[str, str]) -> Json:
    if is_object(value):
        return {names.get(key, key): _rename(held, names) for key, held in value.items()}
    if is_array(value):
        return [_rename(held, names) for held in value]
    return names.get(value, value) if isinstance(value, str) else value


def _list_leaves(value: Json, path: Place = ()) -> dict[Place, Json]:
    """Every empty object and every value that is not an object, by its path."""
    if is_object(value) and value:
        return {
            found: leaf
            for key, held in value.items()
            for found, leaf in _list_leaves(held, (*path, key)).items()
        }
    return {path: value}
