"""Texts that a verifier does not compare letter for letter, found by running the reference path
with a marker in one text argument.

optional text that is left out ──► free: any text or none
text of the path's own words   ──► worded: any text that is not empty
text that the request gives    ──► one of its spellings, or of the wordings that the author lists

An argument counts only if the program takes the marker and stores it, unchanged, in rows that the
path changes anyway.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.kinds.authoring.columns import is_open_text, is_pointer
from envmill.kinds.start import start, start_elsewhere
from envmill.language.told import list_leaves
from envmill.language.words import find_words, normalise
from envmill.sandbox import Invoke, Look, Program, Reset, Sandbox
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Ending
from envmill.verifiers.pattern import EXEMPT, FILLED, WORDS, settle_words
from schemas.base import Json, is_array, is_object
from schemas.environment import Call, Environment, Tool
from schemas.scenario import Check, Draft, Verifier

MARKER = "qz marker"
"""Short, because programs limit lengths; with a blank, because the texts that matter are words."""
_DATE = re.compile(r"\d{4}-\d\d-\d\d")

Path = tuple[str, ...]


@dataclass(frozen=True)
class LooseArgument:
    """Places that one argument fills, and what may stand there."""

    hole: Mapping[str, Json]
    here: tuple[Path, ...]
    elsewhere: tuple[Path, ...]
    """The same places in the other run, where new rows have other keys."""

    @property
    def token(self) -> str:
        """Text that stands for the hole while the verifier is derived."""
        return f"\u27e6{next(iter(self.hole))} {'.'.join(self.here[0])}\u27e7"

    @property
    def columns(self) -> set[str]:
        return {f"{path[0]}.{path[2]}" for path in self.here}


async def find_loose(
    draft: Draft, environment: Environment, ends: tuple[Ending, Ending], sandbox: Sandbox
) -> list[LooseArgument]:
    """What may be worded otherwise. Every candidate is run under both clocks and seeds."""
    found: list[LooseArgument] = []
    for place, name, hole in _list_candidates(draft, environment):
        call = draft.oracle[place]
        marked = call.model_copy(update={"arguments": {**call.arguments, name: MARKER}})
        calls = [*draft.oracle[:place], marked, *draft.oracle[place + 1 :]]
        paths = [
            _find_places(
                draft,
                end,
                await play_calls(environment, calls, reset, sandbox),
                call.arguments.get(name) or "",
            )
            for end, reset in zip(ends, (start(draft), start_elsewhere(draft)), strict=True)
        ]
        here, elsewhere = paths
        if (
            not here
            or len(here) != len(elsewhere)
            or any(is_pointer(environment.tables, path) for path in here)
        ):
            continue
        if EXEMPT in hole and not all(
            is_open_text(draft, environment, path, name) for path in here
        ):
            continue
        value = str(call.arguments.get(name) or "")
        # One word is a text of its own only where the column says so: elsewhere it is a code or a
        # choice.
        if (
            EXEMPT not in hole
            and " " not in value.strip()
            and not all(_is_prose(environment, path) for path in here)
        ):
            continue
        found.append(LooseArgument(hole, here, elsewhere))
    return found


def loosen_end(ending: Ending, places: Mapping[Path, str]) -> Ending:
    """The ending with a token in each place."""
    final: dict[str, Json] = dict(ending.final)
    for (table, key, column), token in places.items():
        final[table] = {**final[table], key: {**final[table][key], column: token}}
    return replace(ending, final=final)


def loosen(verifier: Verifier, found: Sequence[LooseArgument]) -> Verifier:
    """The derived verifier with a hole for each token. A check that asks for anything at all asks
    for nothing."""
    if not found:
        return verifier
    holes: dict[str, Mapping[str, Json]] = {each.token: each.hole for each in found}
    goals, guards = (
        [_fill(check, holes) for check in checks] for checks in (verifier.goals, verifier.guards)
    )
    asked = {column for each in found if EXEMPT not in each.hole for column in each.columns}
    free = {column for each in found if EXEMPT in each.hole for column in each.columns}
    worded = {column for each in found if FILLED in each.hole for column in each.columns}
    return verifier.model_copy(
        update={
            "goals": [check for check in goals if check.value != {EXEMPT: True}],
            "guards": [check for check in guards if check.value != {EXEMPT: True}],
            "free": sorted(free - asked),
            "worded": sorted(
                worded - {column for each in found if WORDS in each.hole for column in each.columns}
            ),
        }
    )


def _list_candidates(
    draft: Draft, environment: Environment
) -> Iterator[tuple[int, str, Mapping[str, Json]]]:
    """(call, argument, what may stand where it goes). Numbers, choices, dates and texts that the
    state holds are compared."""
    tools = {tool.name: tool for tool in environment.tools if tool.effect == "change"}
    known = {normalise(leaf) for leaf in list_leaves(draft.initial_state) if isinstance(leaf, str)}
    for place, call in enumerate(draft.oracle):
        tool = tools.get(call.name)
        schemas: Mapping[str, Json] = tool.parameters.get("properties", {}) if tool else {}
        required: Sequence[str] = tool.parameters.get("required", ()) if tool else ()
        for name, schema in schemas.items():
            value = call.arguments.get(name)
            if not _is_text(schema):
                continue
            if value in (None, ""):
                if name not in required and schema.get("default") in (None, ""):
                    yield place, name, {EXEMPT: True}
            elif (
                isinstance(value, str)
                and (" " in value.strip() or _writes_prose(environment, tool))
                and normalise(value) not in known
                and not _DATE.search(value)
            ):
                yield place, name, _choose_hole(draft, value)


def _writes_prose(environment: Environment, tool: Tool | None) -> bool:
    """Whether the tool writes a table with a column whose text may be worded otherwise."""
    written = [
        table for table in environment.tables if tool is not None and table.name in tool.writes
    ]
    return any(column.policy == "semantic" for table in written for column in table.columns)


def _is_prose(environment: Environment, path: Path) -> bool:
    columns = {
        (table.name, column.name): column.policy
        for table in environment.tables
        for column in table.columns
    }
    return columns.get((path[0], path[2])) == "semantic"


def _choose_hole(draft: Draft, value: str) -> Mapping[str, Json]:
    """Wordings where the request gives the text or the author lists some; otherwise any words."""
    listed = draft.variants.get(value, [])
    if listed or find_words(normalise(draft.request), value):
        return {WORDS: [value, *listed]}
    return {FILLED: True}


def _is_text(schema: Json) -> bool:
    """Whether a parameter takes any text."""
    forms = [schema, *schema.get("anyOf", ())]
    named: list[Json] = [form.get("type") for form in forms]
    types: set[str] = {
        one
        for each in named
        for one in (each if is_array(each) else [each])
        if isinstance(one, str)
    }
    return types in ({"string"}, {"string", "null"}) and not any(
        "enum" in form or "format" in form or "const" in form for form in forms
    )


async def play_calls(
    environment: Environment, calls: Sequence[Call], reset: Reset, sandbox: Sandbox
) -> Json:
    """State where the calls lead; None where one of them is not taken."""
    seen = await sandbox.play(Program.of(environment), [reset, *map(Invoke, calls), Look()])
    return seen[-1].state if all(step.outcome == "ok" for step in seen) else None


def _find_places(draft: Draft, end: Ending, marked: Json, value: str) -> tuple[Path, ...]:
    """Places that hold the marker instead of the value; none where the marker makes any other
    difference or reaches an untouched row."""
    if marked is None:
        return ()
    changes = diff_states(end.final, marked)
    for change in changes:
        if (
            len(change.path) != 3
            or change.op == "remove"
            or not _mentions(change.after, MARKER)
            or not _mentions(change.before or "", value)
        ):
            return ()
        table, key, _ = change.path
        before, after = (state.get(table) for state in (draft.initial_state, end.final))
        if is_object(before) and is_object(after) and before.get(key) == after[key]:
            return ()
    return tuple(tuple(change.path) for change in changes)


def _mentions(held: Json, text: str) -> bool:
    return isinstance(held, str) and settle_words(held) == settle_words(text)


def _fill(check: Check, holes: Mapping[str, Mapping[str, Json]]) -> Check:
    name = check.name
    for token, hole in holes.items():
        name = name.replace(
            repr(token), "any text" if WORDS not in hole else " or ".join(map(repr, hole[WORDS]))
        )
    return check.model_copy(update={"name": name[:200], "value": _swap(check.value, holes)})


def _swap(value: Json, holes: Mapping[str, Mapping[str, Json]]) -> Json:
    """The pattern with its tokens replaced, also where a column's policy wrapped one."""
    if is_object(value):
        inner = [
            one
            for one in value.values()
            if len(value) == 1 and isinstance(one, str) and one in holes
        ]
        return (
            dict(holes[inner[0]])
            if inner and next(iter(value)).startswith("$")
            else {key: _swap(one, holes) for key, one in value.items()}
        )
    if is_array(value):
        return [_swap(one, holes) for one in value]
    return dict(holes[value]) if isinstance(value, str) and value in holes else value
