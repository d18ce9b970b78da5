"""Whether request and verifier are fair to each other. A reader maps each demand to the words that
ask for it, and each wish to a demand.

request, rules, policy, tools, demands in plain sentences ─► mapper ─► sources, wishes, hints, readings
quotes, found in the texts ─► a demand without words · a wish without a demand · words that show the way · two readings: suspicions
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from envmill.gates.base import ScenarioCase
from envmill.gates.reading.evidence import describe_item, holds_quote
from envmill.kinds import kind_of
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from schemas.fairness import Demand, DemandSource, FairnessCode, MapperInput, MapperReply
from schemas.reading import Understanding
from schemas.suspicion import SuspicionItem

PROMPT = Prompt.load(Path(__file__).parents[1] / "prompts" / "mapper.md", MapperInput, MapperReply)

REST = Demand(id="rest", text="Nothing else is changed: no other row, column, file or process.")
"""Every verifier demands this, and nobody has to ask for it."""
MOST = 3
"""Findings of a map that go to the judge, most serious first: each takes two readings."""
_CUT = re.compile(r"\s*(?:…|\.{3}|\[…\]|\[\.{3}\])\s*")
"""Marks of words that a reader left out of a quote."""
_SPELLED_FREELY = re.compile(
    r"In (?:the last|some) message the agent tells the user (?:'\d{4}-\d\d-\d\d'|"
    r"-?\d+(?:\.\d+)?)(?![\w'])"
)
"""A demand to tell a date or a number, in any spelling. Once it is asked for, it demands nothing
more."""
_ORDER: tuple[FairnessCode, ...] = ("unasked", "two_readings", "unchecked", "shows_way")


@dataclass(frozen=True)
class Unfairness:
    """One unfair point that the map shows."""

    code: FairnessCode
    words: str
    """For the author: what is wrong, and how to repair it."""
    question: str
    """For the judge: a neutral question. The answer yes means that it is unfair."""


def list_demands(subject: ScenarioCase) -> list[Demand]:
    """All demands in plain sentences."""
    rendered = kind_of(subject.environment).render_demands(subject.environment, subject.scenario)
    return [*(Demand(id=f"d{number}", text=text) for number, text in enumerate(rendered, 1)), REST]


def show_map(item: SuspicionItem, date: str, demands: Sequence[Demand]) -> MapperInput:
    """The mapper's input: what the judge sees of a scenario without the reference path, and the
    demands."""
    shared = {
        name: getattr(item, name)
        for name in MapperInput.model_fields
        if name in SuspicionItem.model_fields
    }
    return MapperInput(**shared, date=date, demands=list(demands))


async def ask_map(subject: ScenarioCase, models: ModelSession) -> MapperReply:
    demands = list_demands(subject)
    named = " ".join(one.text for one in demands)
    return await models.ask(
        PROMPT,
        show_map(describe_item(subject, named), subject.scenario.clock, demands),
        MapperReply,
        role="judge",
    )


def find_unfair(
    reply: MapperReply, item: SuspicionItem, demands: Sequence[Demand]
) -> list[Unfairness]:
    """All unfair points, most serious first. A quote that does not occur in the texts does not
    count."""
    known = {one.id: one for one in demands}
    texts = item.model_copy(
        update={
            "path": [],
            "rows": [],
            "witness": [],
            "name": "",
            "brief": item.brief.model_copy(update={"text": ""}),
        }
    )
    request = texts.model_copy(update={"rules": [], "policy": "", "tools": [], "told": []})
    found = [
        *_list_unasked(reply, texts, known),
        *_list_unchecked(reply, request, known),
        *(
            Unfairness("shows_way", _blame_hint(one.words, one.shows), ask_hint(one.words))
            for one in reply.hints
            if _is_there(one.words, request)
        ),
        *(
            Unfairness(
                "two_readings", _blame_readings(one.words, *both), ask_readings(one.words, *both)
            )
            for one in reply.readings
            if _is_there(one.words, request) and (both := _sort_readings(one.one, one.other))
        ),
    ]
    return sorted(found, key=lambda one: _ORDER.index(one.code))


def ask_unasked(demand: str) -> str:
    """Asks whether a demand exceeds what the texts ask for."""
    return (
        "Could careful work meet all that the request, what the user can tell, the rules and the "
        "policy document ask for, with all that "
        "the tools then do by themselves, and still end so that this is not fulfilled to the "
        f"letter: {demand}"
    )


def ask_unchecked(words: str, demands: Sequence[str]) -> str:
    """Asks whether the agent could ignore a wish unnoticed."""
    listed = " ".join(f"({number}) {text}" for number, text in enumerate(demands, 1))
    return (
        f"Do the words {words!r} of the request wish for something, beyond a courtesy or a "
        "confirmation, that could be left undone or "
        "be done wrongly (what a rule or the policy document forbids, or leaves to somebody else, "
        "is rightly left undone) "
        f"while all of the following still hold: {listed}"
    )


def ask_hint(words: str) -> str:
    """Asks whether words reveal the solution."""
    return (
        f"Do the words {words!r} of the request tell the agent how to work, by naming a tool or a "
        "parameter, an id that only the system "
        "shows, or steps that lead to the end, rather than what the person wants at the end?"
    )


def ask_readings(words: str, one: str, other: str) -> str:
    """Asks in the words of the blind reader's question."""
    return (
        f"Can the words {words!r} be understood in both of these ways, and would the work then "
        f"end differently: (a) {one}; (b) {other}?"
    )


def _list_unasked(
    reply: MapperReply, texts: SuspicionItem, known: Mapping[str, Demand]
) -> Iterator[Unfairness]:
    """Demands without words first, then those that exceed their words. Demands that the mapper
    forgot count as without words."""
    told = {one.id: one for one in reply.sources}
    rank = {identity: place for place, identity in enumerate(known)}
    for demand in sorted(
        (one for one in known.values() if one != REST),
        key=lambda one: (_is_mapped(told.get(one.id), texts), rank[one.id]),
    ):
        source = told.get(demand.id)
        mapped = _is_mapped(source, texts)
        if mapped and not (source and source.excess and not _SPELLED_FREELY.match(demand.text)):
            continue
        words = f"the verifier demands what nobody asks for: {demand.text}"
        if mapped and source:
            words = (
                f"the verifier demands more than {source.quote!r} asks for ({source.excess}): "
                f"{demand.text}"
            )
        yield Unfairness(
            "unasked",
            f"{words} Ask for it in the request, or do not do it and do not tell it.",
            ask_unasked(demand.text),
        )


def _is_mapped(source: DemandSource | None, texts: SuspicionItem) -> bool:
    return source is not None and _is_there(source.quote, texts)


def _is_there(quote: str, texts: SuspicionItem) -> bool:
    """Whether all passages of the quote occur."""
    parts = [part for part in _CUT.split(quote) if part]
    return bool(parts) and all(holds_quote(texts, part) for part in parts)


def _list_unchecked(
    reply: MapperReply, request: SuspicionItem, known: Mapping[str, Demand]
) -> Iterator[Unfairness]:
    texts = [one.text for one in known.values()]
    for wish in reply.wishes:
        if not any(one in known for one in wish.demands) and _is_there(wish.words, request):
            words = (
                f"the request wishes for {wish.words!r}, and nothing in the verifier would "
                "notice if that were left undone. "
            )
            words += (
                "Leave the wish out, or wish for something whose value ends in a column that is "
                "compared or in what is told."
            )
            yield Unfairness("unchecked", words, ask_unchecked(wish.words, texts))


def _blame_hint(words: str, shows: str) -> str:
    return (
        f"the request shows the way: {words!r} gives away {shows}. Say what the end is to be, "
        "and leave the way to the agent."
    )


def _blame_readings(words: str, one: str, other: str) -> str:
    return (
        f"{words!r} has two readings with different ends: {one}; {other}. Add words that exclude "
        "one of them."
    )


def _sort_readings(one: Understanding, other: Understanding) -> tuple[str, str]:
    """Both readings, sorted, so that the question does not tell which one the verifier has."""
    first, second = sorted(f"{each.meaning} [{each.decision}]" for each in (one, other))
    return first, second
