"""Relations that an exploration must satisfy. Each yields the calls that break it, with both
sides."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.observations import ExplorationRun, ObservedCall, ReadPair, is_alike
from envmill.gates.exploring.rows import StateRow, list_objects, list_placed, list_rows
from envmill.sandbox import Observation
from envmill.verifiers.diff import diff_states
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Tool

_ID = re.compile(r"(?:^|_)id$")
_REFERENCE = re.compile(r"(?=.*\d)[A-Z\d]+(?:[-/. ][A-Z\d]+)*")
"""A reference of letters and digits, such as `P-205`."""
_MINDS_CASE = re.compile(
    r"(?<!not )(?<!n't )\bcase[- ]sensitive|\b(?:case|capitals?|capitali[sz]ation) (?:of letters "
    r")?matters?\b",
    re.IGNORECASE,
)
"""Words of a search that is case-sensitive."""
_PICKS = re.compile(
    r"\b(first|next|earliest|latest|oldest|newest|top|recent|page|limit|up to|at most|best|"
    r"cheapest|any(?! of| case)|suggest\w*"
    r"|recommend\w*)\b",
    re.IGNORECASE,
)
"""Words of a query that may choose among equal rows, for example by their order."""


ASKED: Mapping[str, str] = {
    "queries_disagree": "Should both tell the same value under that name?",
    "filter_widens": "Should this call, with the argument left out, tell of these rows too?",
    "filter_differs": "Should this call, with that value, tell of the rows that show it under that name and of "
    "no others?",
    "row_left_out": "Should this search, given a text that two rows hold, tell of both rows?",
    "whole_words_only": "Should this search find rows by a part of that text?",
    "case_sensitive": "Should this search find rows whatever the case of the letters?",
    "rows_changed_alike": "Is only one of these rows meant to be changed by this call?",
    "others_changed_instead": "Is the row that is named meant to be changed, and are the others to stay as they are?",
    "number_taken": "Is each of these rows meant to have a value of its own under that name?",
    "below_zero": "Do the rules, or what the number means, keep it from going below zero?",
    "misspelt_attribute": "Are the two attributes meant to be the same one?",
    "unknown_value": "Is the value that was set another spelling of one of the known values?",
    "transition_missing": "Do the rules demand that some tool sets this value?",
    "booked_twice": "Should the number move by the amount itself, not by twice the amount?",
    "total_overwritten": "Should the amount be added to the number, instead of taking its place?",
}
"""Reason code of a suspicion → the question to a judge."""


@dataclass(frozen=True)
class BrokenRelation:
    reason: str
    words: str
    evidence: Json


def reads_change_nothing(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    for observed in exploration.calls:
        if (
            observed.call.name in exploration.tools
            and exploration.tools[observed.call.name].effect == "query"
            and observed.moved
        ):
            told = {
                "call": observed.call.model_dump(),
                "after": [one.model_dump() for one in observed.route],
                "states": [observed.before, observed.after],
            }
            yield BrokenRelation(
                "query_changes",
                f"{observed.call.name} only reads, and the state is another one after it",
                told,
            )


def writes_are_visible(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A read in the session that wrote gives the same answer as a read in a session that starts
    from the state."""
    for pair in exploration.read_pairs:
        if pair.way == "written" and _differ(pair):
            names = ", ".join(observed.call.name for observed in pair.moves)
            yield BrokenRelation(
                "stale_read",
                f"after {names}, {pair.call.name} tells of another state than the one there is",
                _show(pair),
            )


def order_of_rows_is_nothing(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """Two states that are equal as JSON give equal answers, except for the order of lists."""
    for pair in exploration.read_pairs:
        if (
            pair.way == "turned"
            and not _may_pick(exploration.tools[pair.call.name])
            and _differ(pair)
        ):
            yield BrokenRelation(
                "row_missed",
                f"{pair.call.name} tells of other rows when they are stored in another order",
                _show(pair),
            )


def _may_pick(tool: Tool) -> bool:
    words = [tool.name.replace("_", " "), tool.description]
    for name, schema in tool.parameters.get("properties", {}).items():
        words += [name.replace("_", " "), schema.get("description", "")]
    return bool(_PICKS.search(" ".join(words)))


def list_agrees_with_get(
    built: EnvironmentCase, exploration: ExplorationRun
) -> Iterator[BrokenRelation]:
    """Two queries agree on a row: if one returns the stored values, the other returns no other
    values."""
    told: dict[tuple[int, str, str], list[tuple[ReadPair, Mapping[str, Json]]]] = {}
    for pair in exploration.read_pairs:
        if pair.one.outcome == "ok":
            for home, key, row in list_placed(pair.one.parts, built.environment.tables):
                told.setdefault((id(pair.state), home, key), []).append((pair, row))
    states = {id(pair.state): pair.state for pair in exploration.read_pairs}
    rows = {
        place: {each: row.value for row in list_rows(state) for each in _name_row(row)}
        for place, state in states.items()
    }
    for (state, home, key), tellings in told.items():
        stored = rows[state].get((home, key))
        if stored is None or len({pair.call.name for pair, _ in tellings}) < 2:
            continue
        for pair, row in tellings:
            wrong = [
                name
                for name in row
                if name in stored
                and row[name] != stored[name]
                and type(row[name]) is type(stored[name])
            ]
            agreeing = [
                other
                for other, one in tellings
                if wrong and other.call.name != pair.call.name and _holds_all(one, stored)
            ]
            if agreeing:
                seen = {
                    "row": key,
                    "stored": stored,
                    "told": row,
                    "by": pair.call.model_dump(),
                    "against": agreeing[0].call.model_dump(),
                }
                yield BrokenRelation(
                    "queries_disagree",
                    f"{pair.call.name} and {agreeing[0].call.name} disagree on {wrong[0]} of {key}",
                    seen,
                )


def _name_row(row: StateRow) -> tuple[tuple[str, str], ...]:
    """By key alone, and by collection and key."""
    return ("", row.key), (row.collection, row.key)


def _holds_all(told: Mapping[str, Json], stored: Mapping[str, Json]) -> bool:
    return all(told.get(name) == value for name, value in stored.items())


def filters_are_subsets(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """With one more filter, a list contains no row that it did not contain before."""
    for tool in exploration.tools.values():
        required = set(tool.parameters.get("required", ()))
        calls = [
            observed
            for observed in exploration.of(tool.name)
            if observed.why == "filter" and observed.seen.outcome == "ok"
        ]
        bare = next(
            (observed for observed in calls if set(observed.call.arguments) <= required), None
        )
        whole = _read_list(bare.seen) if bare else None
        if bare is None or whole is None:
            continue
        for observed in calls:
            extra = next(iter(set(observed.call.arguments) - required), "")
            part = _read_list(observed.seen)
            value = observed.call.arguments.get(extra)
            if part is None:
                continue
            key = _find_key(whole, part)
            wide, narrow = _name_rows(whole, key), _name_rows(part, key)
            # A list may leave out rows that can still be asked for by key, such as a kind with
            # nothing on that day.
            more = narrow - wide - ({canonical_json(value)} if key else set())
            if (
                not _is_filter(tool, extra)
                or not more
                or (isinstance(value, bool) and wide <= narrow)
            ):
                continue
            # A query that chooses among rows may return other ones, as long as it returns no more
            # of them.
            if _may_pick(tool) and len(narrow) <= len(wide):
                continue
            seen = {
                "call": observed.call.model_dump(),
                "without": bare.call.model_dump(),
                "more": sorted(more)[:5],
            }
            yield BrokenRelation(
                "filter_widens",
                f"{tool.name} with {extra}={value!r} tells of rows it does not tell of without",
                seen,
            )


def _is_filter(tool: Tool, name: str) -> bool:
    """Whether leaving out the argument leaves out no rows. A default value filters as well; a
    number may be a page."""
    schema = tool.parameters.get("properties", {}).get(name)
    if schema is None or _PICKS.search(name.replace("_", " ")):
        return False
    types: Json = schema.get("type")
    kinds: list[Json] = types if is_array(types) else [types]
    return "boolean" in kinds or (not schema.get("default") and "string" in kinds)


def _read_list(seen: Observation) -> list[Json] | None:
    """Rows of an answer that is one list."""
    value: Json = seen.parts[0].get("value") if len(seen.parts) == 1 else None
    return value if is_array(value) else None


def _find_key(*lists: Sequence[Json]) -> tuple[str, ...]:
    """The path of the first field whose name ends in `id` and whose values differ within each list,
    in a row or in a record inside it; empty if there is none.

    It identifies a row whose other fields depend on the filter: who is free depends on the
    requested day.
    """
    rows = [row for listed in lists for row in listed]
    first: Json = rows[0] if rows else None
    ways = [(name,) for name in first] if is_object(first) else []
    ways += (
        [(name, inner) for name, part in first.items() if is_object(part) for inner in part]
        if is_object(first)
        else []
    )
    for way in ways:
        keys = [[str(_follow(row, way) or "") for row in listed] for listed in lists]
        if _ID.search(way[-1]) and all(
            all(listed) and len(set(listed)) == len(listed) for listed in keys
        ):
            return way
    return ()


def _follow(row: Json, way: tuple[str, ...]) -> Json:
    for name in way:
        row = row.get(name) if is_object(row) else None
    return row


def _name_rows(rows: Sequence[Json], key: tuple[str, ...]) -> set[str]:
    """Rows by key. Without a key, by their fields, except nested ones, which the filter may choose,
    too."""
    return {
        canonical_json(_follow(row, key) if key and is_object(row) else _flatten(row))
        for row in rows
    }


def _flatten(row: Json) -> Json:
    flat: Json = (
        {name: part for name, part in row.items() if not is_object(part) and not is_array(part)}
        if is_object(row)
        else row
    )
    return flat or row


def searches_find_parts(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A search for parts finds the same rows by a part of a text, and in either case, as by the
    whole text."""
    for tool in exploration.tools.values():
        calls = [observed for observed in exploration.of(tool.name) if observed.why == "search"]
        for whole, part, other in zip(calls[::3], calls[1::3], calls[2::3], strict=False):
            found = _list_ids(whole)
            if not found or whole.seen.outcome != "ok":
                continue
            for reason, spelt, words in (
                ("whole_words_only", part, "a part of it"),
                ("case_sensitive", other, "it in the other case"),
            ):
                if not found <= _list_ids(spelt) and not _may_differ(
                    reason, exploration, tool, whole, spelt
                ):
                    seen = {
                        "call": spelt.call.model_dump(),
                        "against": whole.call.model_dump(),
                        "found": sorted(found),
                        "now": sorted(_list_ids(spelt)),
                    }
                    yield BrokenRelation(
                        reason,
                        f"{tool.name} finds rows by a text and does not find them by {words}",
                        seen,
                    )


def _may_differ(
    reason: str, exploration: ExplorationRun, tool: Tool, whole: ObservedCall, spelt: ObservedCall
) -> bool:
    """Whether a different result is allowed: the search takes references such as `P-205`, which
    people copy as they are, or its description says that case matters.

    It is not allowed for references if the parameter's description says that a part is enough.
    """
    changed = [
        name
        for name, value in whole.call.arguments.items()
        if value != spelt.call.arguments.get(name)
    ]
    said = " ".join(
        [tool.description, *(exploration.offers.describe(tool, name) for name in changed)]
    )
    return (reason == "case_sensitive" and _MINDS_CASE.search(said) is not None) or any(
        _REFERENCE.fullmatch(str(whole.call.arguments[name]))
        and not exploration.offers.takes_part(tool, name)
        for name in changed
    )


def searches_find_all(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A part of two texts finds all rows that either text finds. A part that finds nothing is
    another fault."""
    for tool in exploration.tools.values():
        shared = [observed for observed in exploration.of(tool.name) if observed.why == "shared"]
        for one, other, part in zip(shared[::3], shared[1::3], shared[2::3], strict=False):
            wanted, found = _list_ids(one) | _list_ids(other), _list_ids(part)
            if (
                found
                and _list_ids(one)
                and _list_ids(other)
                and not wanted <= found
                and not _may_pick(tool)
            ):
                calls = [observed.call.model_dump() for observed in (one, other, part)]
                words = (
                    f"{tool.name} finds two rows by their texts, and by a part of both not all "
                    "of them"
                )
                yield BrokenRelation(
                    "row_left_out",
                    words,
                    {"calls": calls, "wanted": sorted(wanted), "found": sorted(found)},
                )


def _list_ids(observed: ObservedCall) -> set[str]:
    """Ids of the rows in an answer, numbers included: one tool's replies number the same rows."""
    return (
        {
            str(one["id"])
            for one in list_objects(observed.seen.parts)
            if isinstance(one.get("id"), str | int)
        }
        if observed.seen.outcome == "ok"
        else set()
    )


def states_stand_alone(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A change has the same effect in the session that reached a state as in one that starts from
    it: nothing is kept outside the state."""
    for pair in exploration.write_pairs:
        changes = diff_states(*pair.states)
        if pair.one.outcome != pair.other.outcome or changes:
            seen = {
                "after": pair.first.call.model_dump(),
                "call": pair.call.model_dump(),
                "outcomes": [pair.one.outcome, pair.other.outcome],
                "differences": [change.model_dump() for change in changes[:5]],
            }
            yield BrokenRelation(
                "hidden_link",
                f"after {pair.first.call.name}, {pair.call.name} does otherwise than on the same "
                "state alone",
                seen,
            )


def rows_are_not_overwritten(
    built: EnvironmentCase,  # noqa: ARG001
    exploration: ExplorationRun,
) -> Iterator[BrokenRelation]:
    """A new row never overwrites another one, even after rows were removed."""
    for hole in exploration.hole_tests:
        collection, key = hole.place
        changes = diff_states(*hole.states)
        if hole.one.outcome == "ok" and not any(
            change.op == "add" and change.path[:-1] == [collection] for change in changes
        ):
            seen = {
                "call": hole.call.model_dump(),
                "row": hole.place,
                "changes": [change.model_dump() for change in changes[:5]],
            }
            yield BrokenRelation(
                "row_overwritten",
                f"{hole.call.name} counts its ids: with another row gone, the next one falls on "
                f"{collection}.{key}",
                seen,
            )


def _differ(pair: ReadPair) -> bool:
    return not is_alike(pair.one, pair.other)


def _show(pair: ReadPair) -> Json:
    return {
        "writes": [observed.call.model_dump() for observed in pair.moves],
        "read": pair.call.model_dump(),
        "one": _brief(pair.one),
        "other": _brief(pair.other),
    }


def _brief(seen: Observation) -> Json:
    return {
        "outcome": seen.outcome,
        "code": seen.code,
        "parts": seen.parts[:3] if len(canonical_json(seen.parts)) < 4000 else "long",
    }
