"""What a judge sees of an item: its texts, the reference path and the relevant rows, but nothing
that names a gate."""

import re
from collections.abc import Iterator, Sequence
from itertools import zip_longest

from envmill.gates.base import EnvironmentCase, Finding, ScenarioCase
from envmill.gates.reading.known_values import read_part
from envmill.sandbox import Observation
from schemas.base import Json, canonical_json, is_array, is_object
from schemas.environment import Environment
from schemas.scenario import Scenario
from schemas.suspicion import SuspicionItem, ToolText

_MOST_ROWS, _LONGEST = 40, 12_000
"""Rows of a state, and characters of the executed calls."""
_REPLY = 800
"""Characters of one reply on the reference path."""
_OURS = frozenset({"gate", "reason", "detail", "relation", "class", "question", "said"})
"""Keys of evidence that contain the gate's own words."""
_WORD = re.compile(r"\w{3,}")
_SHORTEST = 2
"""Length of the shortest quote: single letters occur in every text."""


def describe(
    subject: EnvironmentCase | ScenarioCase, finding: Finding, replies: Sequence[Observation] = ()
) -> SuspicionItem:
    """The item for the judge. Only environments show evidence: a scenario is judged by its texts
    and its reference path.

    `replies` are those to the path's calls, if it was played. The brief's outline is left out,
    because it repeats what the tools say.
    """
    scenario = subject.scenario if isinstance(subject, ScenarioCase) else None
    item = describe_item(subject, finding.question, replies)
    return (
        item
        if scenario
        else item.model_copy(update={"witness": _shorten(_strip(finding.evidence))})
    )


def describe_item(
    subject: EnvironmentCase | ScenarioCase, question: str, replies: Sequence[Observation] = ()
) -> SuspicionItem:
    """The item without evidence, with the rows that the question names."""
    environment = subject.environment
    scenario = subject.scenario if isinstance(subject, ScenarioCase) else None
    calls = [call.model_dump(mode="json") for call in scenario.oracle] if scenario else []
    named = f"{question} {scenario.request if scenario else ''} {canonical_json(calls)}"
    return SuspicionItem(
        brief=environment.brief.model_copy(update={"outline": None}),
        name=environment.name,
        rules=environment.rules,
        policy=environment.policy_document,
        tools=show_tools(environment),
        request=scenario.request if scenario else "",
        told=list_told(scenario) if scenario else [],
        path={"calls": _add_replies(calls, replies), "last_words": scenario.say}
        if scenario
        else [],
        rows=pick_rows(scenario.initial_state, named) if scenario else [],
        witness=[],
    )


def list_told(scenario: Scenario) -> list[str]:
    """The user's facts, sorted as storing a scenario keeps them. So verify asks the same question
    as the repair loop, and pays only once."""
    return [f"{name}: {value}" for name, value in sorted(scenario.user.facts.items())]


def show_tools(environment: Environment) -> list[ToolText]:
    return [
        ToolText(name=tool.name, description=tool.description, parameters=tool.parameters)
        for tool in environment.tools
    ]


def _add_replies(calls: Sequence[dict[str, Json]], replies: Sequence[Observation]) -> list[Json]:
    """Each call with its shortened reply. Rows are chosen by the calls alone, so replies do not
    change them."""
    return [
        call | ({"reply": _describe_reply(reply)} if reply else {})
        for call, reply in zip_longest(calls, replies[: len(calls)])
    ]


def _describe_reply(reply: Observation) -> str:
    if reply.outcome != "ok":
        return f"{reply.outcome}: {reply.code}: {reply.message}"[:_REPLY]
    parts = [read_part(part) for part in reply.parts]
    text = canonical_json(parts[0] if len(parts) == 1 else parts)
    return text if len(text) <= _REPLY else f"{text[:_REPLY]} … and so on"


def holds_quote(item: SuspicionItem, quote: str) -> bool:
    """Whether the item contains the quote. Blanks, quotation marks and case are ignored."""
    wanted = _flatten(quote)
    return len(wanted) >= _SHORTEST and any(
        wanted in _flatten(text) for text in _list_texts(item.model_dump(mode="json"))
    )


def _list_texts(value: Json) -> Iterator[str]:
    """Each text, and each part as JSON, because models quote rows and calls as they are printed."""
    if is_object(value) or is_array(value):
        yield canonical_json(value)
        for part in value.values() if is_object(value) else value:
            yield from _list_texts(part)
    else:
        yield str(value)


def _flatten(text: str) -> str:
    return re.sub(r"[\s\"'`“”‘’\\]+", "", text).casefold()


def pick_rows(state: dict[str, Json], named: str) -> Json:
    """Named rows first, then those that share the most words with the naming text."""
    words = set(_WORD.findall(named.casefold()))
    rows = [
        (table, key, row)
        for table, held in state.items()
        if is_object(held)
        for key, row in held.items()
        if is_object(row)
    ]
    shared = [
        len(words & set(_WORD.findall(f"{key} {canonical_json(row)}".casefold())))
        for _, key, row in rows
    ]
    called = [bool(re.search(rf"(?<!\w){re.escape(key)}(?!\w)", named)) for _, key, _ in rows]
    # Ties are sorted by name. The order in a state may change in storage, and a new question would
    # be paid for again.
    order = sorted(
        range(len(rows)), key=lambda place: (not called[place], -shared[place], rows[place][:2])
    )[:_MOST_ROWS]
    picked: dict[str, dict[str, Json]] = {}
    for table, key, row in (rows[place] for place in sorted(order)):
        picked.setdefault(table, {})[key] = row
    return picked or ([] if rows or not state else canonical_json(state)[:_LONGEST])


def _strip(evidence: Json) -> Json:
    """Evidence without the gate's own words."""
    if is_object(evidence):
        return {name: _strip(part) for name, part in evidence.items() if name not in _OURS}
    return [_strip(part) for part in evidence] if is_array(evidence) else evidence


def _shorten(evidence: Json) -> Json:
    text = canonical_json(evidence)
    return (evidence if len(text) <= _LONGEST else f"{text[:_LONGEST]} … and so on") or []
