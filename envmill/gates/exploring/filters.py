"""Filters compared with the rows they choose: given a value that rows show, a filter returns those
rows and no others.

replies of a query ─► values that rows show under the filter's name ─► one call for each value ─► its rows

Ranges, sorting and dates are left out: their arguments need not equal a value of a row.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall
from envmill.gates.exploring.relations import BrokenRelation
from envmill.gates.exploring.session_plans import SessionPlan
from envmill.sandbox import Observation
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Call, Tool

_VALUES = 3
"""Number of values tried for one filter."""
_FEWEST = 2
"""Number of values that must all show the same fault before it counts as proven."""
_LOOSE = re.compile(
    r"\b(not|other|others|except|exclud\w+|without|before|after|until|since|least|most|above|"
    r"below|over|under|more|less|later|earlier|newer"
    r"|older|within|minimum|maximum|near\w*|similar|sort\w*|order\w*|group\w*|format|visible|"
    r"shared|available)\b",
    re.IGNORECASE,
)
"""Words of an argument that need not equal a value of a row."""
_DATE = re.compile(r"\d{4}-\d\d|\d\d?:\d\d")

Shown = Mapping[str, Json]


@dataclass(frozen=True)
class Filter:
    """One argument of a query, and the fields in which rows show its values."""

    tool: Tool
    name: str
    fields: frozenset[str]
    """The field with the argument's name; otherwise fields whose names end in it, as
    `from_member_id` ends in `member_id`."""
    listed: bool
    """Whether the argument takes whole values only, and no part of a text."""

    @property
    def is_exact_name(self) -> bool:
        return self.name in self.fields

    @property
    def is_optional(self) -> bool:
        return self.name not in self.tool.parameters.get("required", ())

    def is_met(self, row: Shown, value: Json) -> bool:
        return any(
            _is_same(value, held, part=not self.listed)
            for name in self.fields
            for held in _list_held(row.get(name))
        )

    def is_told(self, row: Shown) -> bool:
        return any(list(_list_held(row.get(name))) for name in self.fields)


@dataclass(frozen=True)
class FilterAnswer:
    """The rows that a filter returned for one value."""

    value: Json
    observed: ObservedCall
    rows: Sequence[Shown]
    met: Sequence[Shown]
    """Rows that show the value."""
    unmet: Sequence[Shown]
    """Rows that show another value."""

    @property
    def keys(self) -> set[str]:
        return set(map(_name, self.rows))


def plan_filters(exploration: ExplorationRun) -> Iterator[SessionPlan]:
    """Sessions that use each filter alone, with values that rows showed."""
    for tool in exploration.tools.values():
        base = _find_base(exploration, tool)
        if base is None:
            continue
        calls = [
            _ask(tool, base, one.name, value)
            for one in list_filters(exploration, tool)
            for value in _list_values(exploration, one, base)
        ]
        if calls:
            yield SessionPlan(base.start, base.route, tuple(("filter", call) for call in calls))


def list_filters(exploration: ExplorationRun, tool: Tool) -> Iterator[Filter]:
    """Arguments that are named like a field of the query's rows."""
    rows = _list_known(exploration, tool)
    fields = {name for row in rows for name in row}
    searched = set(exploration.offers.searches(tool))
    for name, schema in tool.parameters.get("properties", {}).items():
        if _takes_words(schema) and not _LOOSE.search(
            f"{name.replace('_', ' ')} {schema.get('description', '')}"
        ):
            similar = frozenset(
                {name} & fields
                or {one for one in fields if name.endswith("id") and one.endswith(f"_{name}")}
            )
            if similar:
                yield Filter(tool, name, similar, listed=name not in searched)


def filters_choose_rows(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """Given a value that rows show under its name, a filter returns those rows and no others."""
    for tool in exploration.tools.values():
        base = _find_base(exploration, tool)
        if base is None:
            continue
        for one in list_filters(exploration, tool):
            answers = list(_list_answers(exploration, one, base))
            found = (
                _judge(one, answers, _find_bare(exploration, tool, base, one.name))
                if answers
                else None
            )
            if found:
                yield found


def _judge(
    one: Filter, answers: Sequence[FilterAnswer], bare: ObservedCall | None
) -> BrokenRelation | None:
    """The plainest fault first. A fault is proven only for an optional filter, by its own field and
    several values."""
    wide = _read_rows(bare.seen) if bare else None
    sure = one.is_exact_name and one.is_optional and len(answers) >= _FEWEST
    for reason, words, is_seen in (
        (
            "filter_inverted",
            "tells of rows that show another value and of none that shows this one",
            all(map(_is_inverted, answers)),
        ),
        (
            "filter_ignored",
            "tells of the same rows whatever the value, and they show different ones",
            _is_ignored(answers, wide),
        ),
        (
            "filter_finds_nothing",
            "finds nothing by values that rows show",
            _finds_nothing(one, answers, wide),
        ),
    ):
        if is_seen and (sure or one.listed):
            return _describe(one, answers[0], bare, reason if sure else "filter_differs", words)
    if one.is_exact_name and one.listed:
        for answer in answers:
            if answer.unmet:
                return _describe(
                    one, answer, bare, "filter_differs", "tells of rows that show another value"
                )
            if (
                wide
                and len(answer.rows) < len(wide)
                and not _list_met(one, answer.value, wide) <= answer.keys
            ):
                return _describe(
                    one,
                    answer,
                    bare,
                    "filter_differs",
                    "leaves out a row that shows this value and is told of without the filter",
                )
    return None


def _is_inverted(answer: FilterAnswer) -> bool:
    return bool(answer.unmet) and not answer.met


def _is_ignored(answers: Sequence[FilterAnswer], wide: Sequence[Shown] | None) -> bool:
    alike = all(answer.unmet and answer.keys == answers[0].keys for answer in answers)
    return (
        alike
        and len(answers) >= _FEWEST
        and (wide is None or answers[0].keys == set(map(_name, wide)))
    )


def _finds_nothing(
    one: Filter, answers: Sequence[FilterAnswer], wide: Sequence[Shown] | None
) -> bool:
    return all(not answer.rows and _list_met(one, answer.value, wide or ()) for answer in answers)


def _list_met(one: Filter, value: Json, rows: Sequence[Shown]) -> set[str]:
    return {_name(row) for row in rows if one.is_met(row, value)}


def _describe(
    one: Filter, answer: FilterAnswer, bare: ObservedCall | None, reason: str, words: str
) -> BrokenRelation:
    seen: Json = {
        "call": answer.observed.call.model_dump(),
        "without": bare.call.model_dump() if bare else None,
        "fields": sorted(one.fields),
        "rows": [dict(row) for row in (*answer.unmet, *answer.met)[:3]],
        "of": len(answer.rows),
    }
    return BrokenRelation(reason, f"{one.tool.name} with {one.name}={answer.value!r} {words}", seen)


def _find_base(exploration: ExplorationRun, tool: Tool) -> ObservedCall | None:
    """An answered call of the filter, otherwise any answered one. All answers use its state and its
    other arguments."""
    if tool.effect != "query":
        return None
    calls = [
        observed
        for observed in exploration.of(tool.name)
        if observed.seen.outcome == "ok" and _read_rows(observed.seen) is not None
    ]
    return next(
        (observed for observed in calls if observed.why == "filter"),
        next((observed for observed in calls if not observed.route), None),
    )


def _ask(tool: Tool, base: ObservedCall, name: str, value: Json) -> Call:
    required = tool.parameters.get("required", ())
    rest = {key: held for key, held in base.call.arguments.items() if key in required}
    return base.call.model_copy(update={"arguments": rest | {name: value}})


def _find_bare(
    exploration: ExplorationRun, tool: Tool, base: ObservedCall, name: str
) -> ObservedCall | None:
    """The call without the filter."""
    required = set(tool.parameters.get("required", ()))
    if name in required:
        return None
    rest = {key: held for key, held in base.call.arguments.items() if key in required}
    return next(
        (
            observed
            for observed in _list_near(exploration, tool, base)
            if observed.call.arguments == rest
        ),
        None,
    )


def _list_near(exploration: ExplorationRun, tool: Tool, base: ObservedCall) -> list[ObservedCall]:
    """Answered calls of the tool on the same state."""
    return [
        observed
        for observed in exploration.of(tool.name)
        if observed.before == base.before and observed.seen.outcome == "ok"
    ]


def _list_known(exploration: ExplorationRun, tool: Tool) -> list[Shown]:
    """All rows that the query returned on that state."""
    base = _find_base(exploration, tool)
    calls = _list_near(exploration, tool, base) if base else []
    found = {
        canonical_json(row): row for observed in calls for row in _read_rows(observed.seen) or ()
    }
    return list(found.values())


def _list_values(exploration: ExplorationRun, one: Filter, base: ObservedCall) -> list[Json]:
    """Values that rows show and that the filter is known to take, by the interface or by the column
    of its tests' values."""
    known = set(map(str, exploration.offers.list_taken(one.tool, one.name, base.start)))
    shown = [
        held
        for row in _list_known(exploration, one.tool)
        for name in sorted(one.fields)
        for held in _list_held(row.get(name))
    ]
    taken = [value for value in shown if str(value) in known and not _DATE.search(str(value))]
    return list({str(value): value for value in taken}.values())[:_VALUES]


def _list_answers(
    exploration: ExplorationRun, one: Filter, base: ObservedCall
) -> Iterator[FilterAnswer]:
    for value in _list_values(exploration, one, base):
        call = _ask(one.tool, base, one.name, value)
        observed = next(
            (
                observed
                for observed in _list_near(exploration, one.tool, base)
                if observed.call.arguments == call.arguments
            ),
            None,
        )
        rows = _read_rows(observed.seen) if observed else None
        if observed and rows is not None:
            told = [row for row in rows if one.is_told(row)]
            met = [row for row in told if one.is_met(row, value)]
            yield FilterAnswer(value, observed, rows, met, [row for row in told if row not in met])


def _read_rows(seen: Observation) -> list[Shown] | None:
    """Rows of an answer that is a list of rows or contains exactly one list."""
    value: Json = seen.parts[0].get("value") if len(seen.parts) == 1 else None
    lists = [held for held in value.values() if is_array(held)] if is_object(value) else [value]
    rows: Json = lists[0] if len(lists) == 1 else None
    return rows if is_array(rows) and all(map(is_object, rows)) else None


def _name(row: Shown) -> str:
    key = row.get("id")
    return str(key) if isinstance(key, str | int) else canonical_json(row)


def _takes_words(schema: Mapping[str, Any]) -> bool:
    """Whether the argument takes texts. Numbers are left out, since keys cannot be told from counts
    here."""
    kind: Json = schema.get("type")
    return "string" in (kind if is_array(kind) else [kind])


def _list_held(value: Json) -> Iterator[str]:
    """Values of a field: a text that is not empty, or several."""
    yield from (
        one
        for one in (value if is_array(value) else [value])
        if isinstance(one, str) and one.strip()
    )


def _is_same(value: Json, held: str, *, part: bool) -> bool:
    wanted, shown = str(value).strip().casefold(), held.strip().casefold()
    return wanted == shown or (part and wanted in shown)
