"""Renders a verifier as plain sentences, one for each demand. A reader says which words of the
request ask for each demand.

goals, guards outside the frame, facts, procedure, columns that must hold a text ─► sentences, rows named by their labels
"""

from collections.abc import Iterator, Sequence

from envmill.verifiers.checks import MISSING, find_value
from envmill.verifiers.pattern import EXEMPT, HOLES, ROW, Hole
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.scenario import CallPattern, Check, Fact, Predicate, Scenario

_LABELS = ("name", "title", "label", "subject", "reference", "address", "code", "number")
"""Fields by which people name a row, best first."""
_LONGEST = 600
"""Maximal length of a generated check's source."""
_MOST = 4
"""Maximal number of rival values that a sentence lists."""


def render_demands(scenario: Scenario) -> Iterator[str]:
    """Every demand that the request must ask for. The frame and the forbidden calls are left out: a
    request need not say that nothing else may change."""
    verifier, state = scenario.verifier, scenario.initial_state
    frame = {tuple(path) for path in verifier.frame}
    for goal in verifier.goals:
        yield render_check(goal, state)
    for guard in verifier.guards:
        if tuple(guard.path) not in frame:
            yield f"Still at the end: {render_check(guard, state)}"
    for fact in verifier.facts:
        yield render_fact(fact)
    for step in verifier.procedure:
        yield render_step(step, state)
    for place in verifier.worded:
        yield f"{place} holds some text, whatever its words, in each row that is made or changed."


def render_check(check: Check, state: dict[str, Json]) -> str:
    """The sentence for a check of the end state."""
    if check.op == "generated":
        return f"{check.name}. A program decides this: {check.source[:_LONGEST]}"
    if check.op == "present":
        return f"A new row in {'.'.join(check.path)}: {_render_row(check.value, state)}."
    place = _render_place(check.path, state)
    if check.op == "absent":
        return f"{place} is deleted."
    before = _find(check.path, state)
    was = (
        f" (at the start {_render_value(before, state)})"
        if before is not None and not is_object(before)
        else ""
    )
    return f"{place} is {_render_value(check.value, state)}{was}."


def render_fact(fact: Fact) -> str:
    """The sentence for a fact."""
    where = "In the last message" if fact.where == "last" else "In some message"
    if fact.kind == "pattern":
        return (
            f"{where} the agent tells the user {fact.name}: the message fits the regular "
            f"expression {fact.value}"
        )
    others = f" (or {', '.join(repr(one) for one in fact.also)})" if fact.also else ""
    wrong = ", ".join(repr(one) for one in fact.rivals[:_MOST])
    besides = (
        f" It does not count where wrong values are listed beside it: {wrong}." if wrong else ""
    )
    return f"{where} the agent tells the user {fact.value!r}{others}: {fact.name}.{besides}"


def render_step(step: Predicate, state: dict[str, Json]) -> str:
    """The sentence for a predicate over the calls."""
    call = _render_call(step.call, state)
    match step.op:
        case "required":
            return f"The agent calls {call} at least once{_render_refused(step, state)}."
        case "seen":
            values = ", ".join(_render_value(one, state) for one in step.shows)
            return (
                f"The agent looks up what shows {values}, by whatever "
                f"tool{_render_refused(step, state)}."
            )
        case "before":
            return (
                f"The agent calls {_render_call(step.first or CallPattern(name=''), state)} "
                f"before every call of {call}."
            )
        case "forbidden":
            return f"The agent never calls {call}."
        case "only":
            return (
                f"The agent calls {call} only as "
                f"{' or '.join(_render_call(one, state) for one in step.among) or 'nothing at all'}."
            )
        case "after":
            return (
                f"The agent does not call {call} once "
                f"{_render_call(step.first or CallPattern(name=''), state)} was called."
            )
        case "agreed":
            named = f", to a message that names {', '.join(step.names)}" if step.names else ""
            return f"The user says yes before every call of {call}{named}."
        case _:
            return f"The agent calls {call} at most {step.most} times."


def _render_refused(step: Predicate, state: dict[str, Json]) -> str:
    tried = " or ".join(_render_call(call, state) for call in step.refused)
    return f", or tries {tried} and is refused by a rule" if tried else ""


def _render_call(call: CallPattern, state: dict[str, Json]) -> str:
    told = ", ".join(
        f"{name} {_render_value(value, state)}" for name, value in call.arguments.items()
    )
    return f"{call.name or 'any tool'}{f' with {told}' if told else ''}"


def _render_place(path: Sequence[str], state: dict[str, Json]) -> str:
    table, *rest = path
    if not rest:
        return table
    row = _find(path[:2], state)
    label = find_label(row)
    named = f"{table} {rest[0]}{f' ({label})' if label and label != rest[0] else ''}"
    return f"{'.'.join(rest[1:])} of {named}" if rest[1:] else named


def _render_row(value: Json, state: dict[str, Json]) -> str:
    if not is_object(value):
        return _render_value(value, state)
    free = [
        name
        for name, one in value.items()
        if is_object(one) and (EXEMPT in one or (ROW in one and name == "id"))
    ]
    asked = [
        f"{name} is {_render_value(one, state)}" for name, one in value.items() if name not in free
    ]
    return ", ".join(asked) + (f"; {', '.join(free)} may hold anything" if free else "")


def _render_value(value: Json, state: dict[str, Json]) -> str:
    for hole in HOLES if is_object(value) else ():
        if hole in value:
            return _render_hole(hole, value[hole])
    if isinstance(value, str) and (label := _find_row_label(value, state)):
        return f"{value!r} ({label})"
    return canonical_json(value) if is_object(value) or is_array(value) else repr(value)


def _render_hole(hole: Hole, asked: Json) -> str:
    match hole:
        case "$exempt":
            return "anything"
        case "$any":
            return f"any {asked}"
        case "$row":
            return f"the key of new row {asked + 1}"
        case "$text":
            return f"{asked!r} (case and blanks aside)"
        case "$near":
            return f"{asked[0]} (or at most {asked[1]} away)"
        case "$words":
            return " or ".join(map(repr, asked))
        case "$filled":
            return "some text"


def find_label(row: Json) -> str:
    """The label of a row: a value by which people name it; empty if it has none."""
    return next((str(row[name]) for name in _LABELS if row.get(name)), "") if is_object(row) else ""


def _find_row_label(key: str, state: dict[str, Json]) -> str:
    return next(
        (
            label
            for rows in state.values()
            if is_object(rows) and key in rows and (label := find_label(rows[key]))
        ),
        "",
    )


def _find(path: Sequence[str], state: dict[str, Json]) -> Json:
    found = find_value(state, list(path))
    return None if found is MISSING else found
