"""The map of gate S16: what is demanded in plain sentences, who asks for it, what is wished for and
not checked, and what shows the way."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from envmill.gates import s16
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.reading.evidence import describe_item
from envmill.gates.reading.mapping import PROMPT, REST, list_demands, show_map
from envmill.kinds.findings import pass_by
from envmill.models.session import ModelSession
from envmill.sandbox import Sandbox
from envmill.verifiers.demands import render_fact, render_step
from offline.opinions import map_request
from schemas.fairness import MapperInput, MapperReply
from schemas.scenario import CallPattern, Fact, Predicate
from tests.gates.cases import SIXTY
from tests.gates.doors import ReadersDoor
from tests.gates.specimens import pose

STUDIO = pose()
"""Ada Kern's account gets 25 euros, and one seat of the wheel class on Tuesday is booked for
her."""
REQUEST = STUDIO.scenario.request
WORDS = REQUEST.split(".")[0]


def told(**other: Any) -> MapperReply:
    """A map on which all is well, but for what is given."""
    sources = [
        {"id": one.id, "quote": WORDS, "excess": ""} for one in list_demands(STUDIO) if one != REST
    ]
    wishes = [{"words": WORDS, "demands": [one["id"] for one in sources]}]
    return MapperReply.model_validate(
        {"sources": sources, "wishes": wishes, "hints": [], "readings": []} | other
    )


def sources(**changed: str) -> list[dict[str, str]]:
    """The first demand is mapped otherwise, the others well."""
    first, *others = told().sources
    return [{**vars(first), **changed}, *(vars(one) for one in others)]


@dataclass(frozen=True)
class Case:
    reply: MapperReply
    reason: str = ""
    named: str = ""


PAIR = {
    "words": WORDS,
    "one": {"meaning": "M1", "decision": "do"},
    "other": {"meaning": "M4", "decision": "do"},
}
CASES = {
    "all is well": Case(told()),
    "a demand without words": Case(
        told(sources=sources(quote="")), "unasked", list_demands(STUDIO)[0].text
    ),
    "a quote that is nowhere": Case(
        told(sources=sources(quote="two hundred balloons")), "unasked", list_demands(STUDIO)[0].text
    ),
    "a demand that was left out": Case(
        told(sources=sources()[1:]), "unasked", list_demands(STUDIO)[0].text
    ),
    "more than the words": Case(
        told(sources=sources(excess="the very text of the note")),
        "unasked",
        "the very text of the note",
    ),
    "a quote with words left out": Case(
        told(sources=sources(quote=f"{WORDS[:12]} … {WORDS[-10:]}"))
    ),
    "a quote in other quotation marks": Case(told(sources=sources(quote=f"“{WORDS.upper()}”"))),
    "a wish without a demand": Case(
        told(wishes=[{"words": WORDS, "demands": []}]), "unchecked", WORDS
    ),
    "a wish with a demand that is none": Case(
        told(wishes=[{"words": WORDS, "demands": ["d99"]}]), "unchecked", WORDS
    ),
    "a wish that the rest notices": Case(told(wishes=[{"words": WORDS, "demands": ["rest"]}])),
    "a wish that nobody has": Case(told(wishes=[{"words": "a pony", "demands": []}])),
    "words that show the way": Case(
        told(hints=[{"words": WORDS, "shows": "the tool top_up"}]), "shows_way", "top_up"
    ),
    "a hint that is not there": Case(
        told(hints=[{"words": "call top_up", "shows": "the tool top_up"}])
    ),
    "two readings": Case(told(readings=[PAIR]), "two_readings", "M4"),
}


@pytest.mark.parametrize("name", CASES)
def test_what_is_unfair_is_suspected_and_nothing_else(name: str) -> None:
    case, finding = CASES[name], s16.judge_map(STUDIO, CASES[name].reply)
    assert finding.reason == case.reason, finding
    assert case.named in finding.detail
    assert s16.GATE not in finding.question
    assert finding.others == ()


@pytest.mark.parametrize(
    ("fact", "excess", "quote", "suspected"),
    [
        (
            Fact(name="day of the visit", kind="date", value="2026-03-24"),
            "only this spelling counts",
            WORDS,
            False,
        ),
        (Fact(name="places left", kind="number", value=5), "the number in figures", WORDS, False),
        (Fact(name="places left", kind="number", value=5), "", "", True),
        (Fact(name="place", kind="text", value="5 Mill Road"), "the exact wording", WORDS, True),
    ],
)
def test_a_date_or_a_number_that_is_asked_for_is_not_asked_for_in_one_spelling(
    fact: Fact, excess: str, quote: str, suspected: bool
) -> None:
    verifier = STUDIO.scenario.verifier.model_copy(update={"goals": [], "facts": [fact]})
    asked = replace(STUDIO, scenario=STUDIO.scenario.model_copy(update={"verifier": verifier}))
    reply = told(sources=[{"id": "d1", "quote": quote, "excess": excess}], wishes=[])
    assert (s16.judge_map(asked, reply).reason == "unasked") is suspected


def test_every_demand_is_a_sentence_that_names_rows_as_people_do() -> None:
    texts = [one.text for one in list_demands(STUDIO)]
    assert (
        len({one.id for one in list_demands(STUDIO)})
        == len(texts)
        == len(STUDIO.scenario.verifier.goals) + 1
    )
    assert any("Ada Kern" in text for text in texts)
    assert not [text for text in texts if '{"' in text or "$" in text]


@pytest.mark.parametrize(
    ("fact", "words"),
    [
        (SIXTY, "60"),
        (
            Fact(
                name="the day",
                kind="date",
                value="2026-03-02",
                also=["2 March"],
                rivals=["2026-03-03"],
            ),
            "or '2 March'",
        ),
        (
            Fact(name="the count", kind="pattern", value="two|2", where="any"),
            "In some message the agent tells the user the count",
        ),
    ],
)
def test_a_fact_is_a_sentence(fact: Fact, words: str) -> None:
    assert words in render_fact(fact)


@pytest.mark.parametrize(
    ("step", "words"),
    [
        (
            Predicate(
                name="", op="required", call=CallPattern(name="pay", arguments={"member_id": "M1"})
            ),
            "pay with member_id 'M1' (Ada Kern) at",
        ),
        (
            Predicate(name="", op="seen", call=CallPattern(name=""), shows=["M1", 60]),
            "looks up what shows 'M1' (Ada Kern), 60",
        ),
        (
            Predicate(
                name="", op="before", call=CallPattern(name="pay"), first=CallPattern(name="ask")
            ),
            "ask before every call of pay",
        ),
        (Predicate(name="", op="forbidden", call=CallPattern(name="pay")), "never calls pay"),
        (
            Predicate(name="", op="at_most", call=CallPattern(name="pay"), most=2),
            "pay at most 2 times",
        ),
    ],
)
def test_a_step_is_a_sentence(step: Predicate, words: str) -> None:
    assert words in render_step(step, STUDIO.scenario.initial_state)


async def look(
    reply: MapperReply, sandbox: Sandbox, fairness: bool = True
) -> tuple[Finding, list[str]]:
    door = ReadersDoor({"mapper": (reply.model_dump_json(), MapperReply)})
    means = GateContext(
        sandbox, ModelSession(door, "scenarios-verify", STUDIO.scenario.id), fairness=fairness
    )
    return await s16.check(STUDIO, means), [request.prompt.name for request in door.asked]


@pytest.mark.asyncio(loop_scope="module")
async def test_a_map_is_asked_for_once_and_stands_without_the_reader(sandbox: Sandbox) -> None:
    finding, asked = await look(CASES["a wish without a demand"].reply, sandbox)
    assert (finding.outcome, finding.reason, sorted(asked)) == (
        "dropped",
        "unchecked",
        ["mapper", "reader"],
    )


@pytest.mark.asyncio(loop_scope="module")
async def test_it_can_be_switched_off(sandbox: Sandbox) -> None:
    finding, asked = await look(CASES["a wish without a demand"].reply, sandbox, fairness=False)
    assert (finding.outcome, asked) == ("not_measured", ["reader"])


def test_one_ambiguity_is_put_to_the_judge_once() -> None:
    mapped = s16.judge_map(STUDIO, CASES["two readings"].reply)
    assert [one.reason for one in s16.merge(mapped, mapped).spread()] == ["two_readings"]
    other = s16.judge_map(STUDIO, CASES["a wish without a demand"].reply)
    assert [one.reason for one in s16.merge(mapped, other).spread()] == [
        "two_readings",
        "unchecked",
    ]
    assert s16.merge(pass_by("S16", "no_rows", ""), s16.judge_map(STUDIO, told())).outcome == "kept"


def test_the_prompt_begins_alike_for_all_scenarios_of_an_environment_and_shows_no_path() -> None:
    inputs = PROMPT.exemplify()
    assert isinstance(inputs, MapperInput)
    one, other = (
        PROMPT.render(inputs.model_copy(update={"request": text, "rows": {}}), MapperReply)
        for text in ("Do a.", "Do b.")
    )
    shared = next(
        place
        for place, (mine, theirs) in enumerate(zip(one, other, strict=False))
        if mine != theirs
    )
    assert shared > one.index("## The request")
    assert (
        set(MapperInput.model_fields) & {"path", "oracle", "verifier", "polarity", "say", "witness"}
        == set()
    )


def test_the_embedded_mapper_answers_and_its_quotes_hold() -> None:
    inputs = PROMPT.exemplify()
    assert isinstance(inputs, MapperInput)
    assert s16.judge_map(STUDIO, map_request(posed_input(STUDIO))).reason == ""
    reply = map_request(
        inputs.model_copy(
            update={
                "request": "Please use assign_ticket for the printer.",
                "policy": "",
                "rules": [],
            }
        )
    )
    assert [one.words for one in reply.hints] == ["assign_ticket"]


def posed_input(posed: ScenarioCase) -> MapperInput:
    return show_map(describe_item(posed, ""), posed.scenario.clock, list_demands(posed))


def test_rows_are_shown_alike_whatever_order_a_state_holds_them_in() -> None:
    """Another order of tables and rows is the same question: it is paid for once."""
    state = STUDIO.scenario.initial_state
    turned = {name: dict(reversed(rows.items())) for name, rows in reversed(state.items())}
    other = replace(STUDIO, scenario=STUDIO.scenario.model_copy(update={"initial_state": turned}))
    assert PROMPT.render(posed_input(other), MapperReply) == PROMPT.render(
        posed_input(STUDIO), MapperReply
    )
