"""Relations on numbers that changes move: a change books an amount once, and adds it to a total
instead of replacing the total.

No rule is read here. The expected amount comes from another row of the same change, or from the
same call made a second time.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.relations import BrokenRelation
from envmill.gates.exploring.rows import list_rows, list_scalars
from envmill.gates.mutating.syntax import holds_number
from schemas.base import Json, is_object
from schemas.environment import Tool
from schemas.scenario import Change

_TWO = re.compile(
    r"\b(two|twice|doubl\w+|both|2|2nd|second|half|halves|pairs?|each way|return)\b", re.IGNORECASE
)
"""Words of a tool by which it may mean twice an amount."""
ONE = "one"
"""Source of a change that counts by one."""
_FEWEST = 2
"""Number of different amounts that must show the same: a single one may be chance."""


@dataclass(frozen=True)
class AmountChange:
    """A number that one change moved."""

    exploration: ExplorationRun
    observed: ObservedCall
    change: Change

    @cached_property
    def sources(self) -> Mapping[str, float]:
        """Numbers that the amount may come from, by a description of each."""
        return _list_sources(self.exploration, self.observed, self.change)

    @property
    def amount(self) -> float:
        return abs(_delta(self.change))

    @property
    def row(self) -> str:
        return self.change.path[1]


def amounts_are_booked_once(
    built: EnvironmentCase, exploration: ExplorationRun
) -> Iterator[BrokenRelation]:
    """A number always moves by twice some amount, and neither the tool's words nor its program
    mention two: the amount was booked twice."""
    for (name, column), bookings in group_bookings(exploration).items():
        for source in _find_doubled(bookings)[:1]:
            if (
                not _is_sure(bookings, source)
                or _TWO.search(_read_words(exploration.tools[name]))
                or holds_number(built.environment, name, 2)
            ):
                continue
            words = f"{name} moves {column} by twice {source}, in each of {len(bookings)} changes"
            yield BrokenRelation(
                "booked_twice", words, [_describe(one.observed, one.change) for one in bookings[:3]]
            )


def _is_sure(bookings: Sequence[AmountChange], source: str) -> bool:
    """Whether amounts (for counts: rows) and final values differ. If all final values are equal,
    the number was set and not moved."""
    varied = {one.row if source == ONE else one.amount for one in bookings}
    return len(varied) >= _FEWEST and len({one.change.after for one in bookings}) >= _FEWEST


def find_unsure(exploration: ExplorationRun) -> set[str]:
    """Tools that moved a number by twice an amount, but were seen with one amount only."""
    return {
        name
        for (name, _), bookings in group_bookings(exploration).items()
        if _find_doubled(bookings) and len({one.amount for one in bookings}) < _FEWEST
    }


def _find_doubled(bookings: Sequence[AmountChange]) -> list[str]:
    """Sources that are half of the amount in every booking; none if another source equals the
    amount in every booking."""
    first, *others = bookings
    doubled = [source for source, value in first.sources.items() if first.amount == 2 * value]
    for one in others:
        doubled = [source for source in doubled if one.amount == 2 * one.sources.get(source, 0.0)]
    # Most groups end here. So the sources of their other bookings are never computed.
    if not doubled or any(
        all(one.sources.get(source) == one.amount for one in bookings) for source in first.sources
    ):
        return []
    return sorted(doubled)


def totals_are_added_to(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A change made twice moves a number twice. A number that only the first one changes was set to
    the amount instead."""
    for observed, again in _list_repeats(exploration):
        first, second = exploration.diff(observed), exploration.diff(again)
        moved = {tuple(change.path): change for change in second}
        grown = {
            abs(_delta(one))
            for one in first
            if (other := moved.get(tuple(one.path))) and _grows_alike(one, other)
        }
        rows = _list_added(first) if _list_added(second) else []
        booked = {
            abs(float(value)) for row in rows for value in row.values() if _is_number(value)
        } - _list_given(observed)
        for change in first:
            if (
                tuple(change.path) not in moved
                and _is_set(change)
                and change.after
                and abs(change.after) in grown | booked
            ):
                words = (
                    f"{observed.call.name} sets {'.'.join(change.path)} to {change.after}, the "
                    "amount; made again, it leaves that as it is"
                )
                yield BrokenRelation("total_overwritten", words, _describe(observed, change))


def numbers_stay_above_zero(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A number goes below zero. No known row holds such a number there, and the caller gave
    none."""
    below = {
        f"{row.collection}.{name}"
        for state in exploration.starts
        for row in list_rows(state)
        for name, value in row.value.items()
        if isinstance(value, int | float) and value < 0
    }
    for observed in exploration.writes():
        given = (value for value in list_scalars(observed.call.arguments) if _is_number(value))
        if any(value < 0 for value in given):
            continue
        for change in exploration.diff(observed):
            if (
                _is_set(change)
                and change.after < 0 <= change.before
                and _column(change) not in below
            ):
                words = f"{observed.call.name} sets {'.'.join(change.path)} to {change.after}, below zero"
                yield BrokenRelation("below_zero", words, _describe(observed, change))


def group_bookings(exploration: ExplorationRun) -> dict[tuple[str, str], list[AmountChange]]:
    """Tool and column → its changes of exactly one row. If a call moves several rows, it is unclear
    which amount belongs to which."""
    groups: dict[tuple[str, str], list[AmountChange]] = {}
    for observed in exploration.writes():
        sets = [change for change in exploration.diff(observed) if _is_set(change)]
        for change in sets:
            column = _column(change)
            if sum(_column(one) == column for one in sets) == 1:
                groups.setdefault((observed.call.name, column), []).append(
                    AmountChange(exploration, observed, change)
                )
    return groups


def _list_sources(
    exploration: ExplorationRun, observed: ObservedCall, change: Change
) -> dict[str, float]:
    """Arguments, other moved numbers, numbers of new and of named rows, and products of arguments
    with these."""
    changes = exploration.diff(observed)
    given = {
        f"the argument {name}": abs(float(value))
        for name, value in observed.call.arguments.items()
        if _is_number(value)
    }
    others = {
        f"what it moves {_column(one)} by": abs(_delta(one))
        for one in changes
        if _is_set(one) and _column(one) != _column(change)
    }
    added = {
        f"{name} of the new row": abs(float(value))
        for row in _list_added(changes)
        for name, value in row.items()
        if _is_number(value)
    }
    held = {
        f"{name} of {column}": value
        for column, name, value in _list_held(exploration, observed, changes)
        if f"{column}.{name}" != _column(change)
    }
    products = {
        f"{one} times {other}": mine * value
        for one, mine in given.items()
        for other, value in held.items()
    }
    return {
        name: value
        for name, value in ({ONE: 1.0} | given | others | added | held | products).items()
        if value
    }


def _list_held(
    exploration: ExplorationRun, observed: ObservedCall, changes: Sequence[Change]
) -> Iterator[tuple[str, str, float]]:
    """Numbers of touched rows and of rows that these or the caller name. A collection with several
    such rows is left out."""
    rows = exploration.rows(observed.before)
    named = {value for value in observed.call.arguments.values() if isinstance(value, str)} | {
        change.path[1] for change in changes if change.path[1:]
    }
    near = [row for row in rows if row.key in named]
    named |= {value for row in near for value in row.value.values() if isinstance(value, str)}
    found: dict[str, list[Mapping[str, Json]]] = {}
    for row in rows:
        if row.key in named:
            found.setdefault(row.collection, []).append(row.value)
    for collection, values in found.items():
        if len(values) == 1:
            yield from (
                (collection, name, abs(float(value)))
                for name, value in values[0].items()
                if _is_number(value)
            )


def _list_repeats(exploration: ExplorationRun) -> Iterator[tuple[ObservedCall, ObservedCall]]:
    """Pairs of equal changes made one right after the other."""
    for calls in exploration.sessions:
        for one, other in pairwise(calls):
            moved = one.moved and other.moved and one.seen.outcome == other.seen.outcome == "ok"
            if (
                moved
                and one.call == other.call
                and exploration.is_looked_at(one)
                and exploration.is_looked_at(other)
            ):
                yield one, other


def _grows_alike(one: Change, other: Change) -> bool:
    return _is_set(one) and _is_set(other) and _delta(one) == _delta(other)


def _list_added(changes: Sequence[Change]) -> list[Mapping[str, Json]]:
    return [
        change.after
        for change in changes
        if change.op == "add" and len(change.path) == 2 and is_object(change.after)
    ]


def _list_given(observed: ObservedCall) -> set[float]:
    return {
        abs(float(value)) for value in list_scalars(observed.call.arguments) if _is_number(value)
    }


def _is_set(change: Change) -> bool:
    return (
        change.op == "set"
        and len(change.path) == 3
        and _is_number(change.before)
        and _is_number(change.after)
    )


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _delta(change: Change) -> float:
    return float(change.after) - float(change.before) if _is_set(change) else 0.0


def _column(change: Change) -> str:
    return f"{change.path[0]}.{change.path[2]}"


def _read_words(tool: Tool) -> str:
    said = (
        schema.get("description", "") for schema in tool.parameters.get("properties", {}).values()
    )
    return " ".join([tool.description, *said])


def _describe(observed: ObservedCall, change: Change) -> Json:
    return {
        "call": observed.call.model_dump(),
        "after": [one.model_dump() for one in observed.route],
        "change": change.model_dump(),
    }
