"""Scenarios in which nothing may be changed: what must be said is nowhere given away, the reads
show it, and a twin differs in one fact."""

import re
from functools import cache

import pytest

import offline as author
from offline.blueprint import write_policy
from offline.dice import make_dice
from offline.domain import TODAY
from offline.matters import load_matters
from offline.polarities import POSES, Twins
from offline.polarities.base import stands_in
from offline.polarities.clarify import pose_clarify
from offline.polarities.refuse import pose_refuse
from offline.population import populate
from offline.wording import render_value
from offline.world import DomainWorld, play_oracle
from schemas.base import is_object
from schemas.prompts import ScenarioReply
from schemas.scenario import Fact
from tests.offline.questions import (
    SAMPLE,
    SEED,
    THEMES,
    Play,
    ask_blueprint,
    ask_scenario,
    compose,
    pose,
    run,
)
from tests.soak import count

NUMBERS = range(count(2, 4))
pytestmark = pytest.mark.soak(area="author")
CASES = [(polarity, theme, number) for polarity in POSES for theme in SAMPLE for number in NUMBERS]
each_case = pytest.mark.parametrize("polarity", POSES)


@cache
def make(polarity: str, theme: str, number: int) -> Twins | None:
    return author.twin(pose("scenario", theme, number, number=number, polarity=polarity), SEED, 0)


def list_made(polarity: str) -> list[tuple[str, int, Twins]]:
    return [
        (theme, number, twins)
        for theme in SAMPLE
        for number in NUMBERS
        if (twins := make(polarity, theme, number))
    ]


def says(fact: Fact, words: str) -> bool:
    """Roughly as a judge reads: the value is there, and no rival stands beside it."""
    if fact.kind == "pattern":
        return bool(re.search(fact.value, words)) and not any(
            rival.lower() in words.lower() for rival in fact.rivals
        )
    left = re.sub(rf"(?<!\w){re.escape(render_value(fact.value))}(?!\w)", "", words)
    return stands_in(render_value(fact.value), words) and not any(
        stands_in(render_value(rival), left) for rival in fact.rivals
    )


@each_case
def test_nearly_every_environment_gives_occasion_for_it(polarity: str) -> None:
    """An answer is always to be had; two of a name are not in every trade."""
    made = len(list_made(polarity))
    assert made >= len(SAMPLE) * len(NUMBERS) * (0.6 if polarity == "clarify" else 0.9)


@each_case
def test_the_answer_is_the_negative_twin(polarity: str) -> None:
    for theme, number, twins in list_made(polarity):
        inputs = pose("scenario", theme, number, number=number, polarity=polarity)
        assert (
            ScenarioReply.model_validate_json(author.answer("scenario", inputs, SEED, 0, 0.0))
            == twins.negative
        )
        assert twins.negative.polarity == polarity


@each_case
def test_the_path_only_reads_and_makes_no_call_to_be_avoided(polarity: str) -> None:
    for theme, number, twins in list_made(polarity):
        effects = {each.name: each.effect for each in ask_blueprint(theme, number).tools}
        assert twins.negative.oracle
        assert all(effects[call.name] == "query" for call in twins.negative.oracle)
        assert all(effects[pattern.name] == "change" for pattern in twins.negative.avoid)
        assert bool(twins.negative.avoid) == (polarity != "answer")


@each_case
def test_last_words_tell_what_neither_request_nor_policy_gives_away(polarity: str) -> None:
    for theme, number, twins in list_made(polarity):
        policy = write_policy(compose(theme, number))
        assert twins.negative.tell
        for fact in twins.negative.tell:
            assert says(fact, twins.negative.say), (fact, twins.negative.say)
            for given in (twins.negative.request, policy):
                assert not says(fact, given), (fact, given)
                assert fact.kind == "pattern" or not stands_in(render_value(fact.value), given), (
                    fact,
                    given,
                )


@each_case
def test_a_refusal_of_everything_and_a_recital_of_everything_tell_nothing(polarity: str) -> None:
    """Somebody who refuses whatever is asked, or names every value there is, has not looked."""
    refusals = (
        "I am sorry, I cannot do that: a rule forbids it.",
        "This is not possible, so I left everything as it is.",
        "It does not work; please check first, and feel free to ask again.",
        "",
    )
    for _, _, twins in list_made(polarity):
        facts = twins.negative.tell
        for words in refusals:
            assert not all(says(fact, words) for fact in facts), (facts, words)
        plain = [fact for fact in facts if fact.rivals]
        recital = (
            f"{twins.negative.say} "
            f"{' '.join(render_value(rival) + '.' for fact in plain for rival in fact.rivals)}"
        )
        assert not plain or not all(says(fact, recital) for fact in facts)


@each_case
def test_the_reads_show_the_fact_in_the_jail(polarity: str) -> None:
    """What must be said is in what the lookups gave; the pattern of a question asks for what no
    lookup gives."""
    for theme in SAMPLE[: count(2, 6)]:
        twins = make(polarity, theme, 0)
        if twins is None:
            continue
        (play,) = run(theme, 0, [(twins.negative.initial_state, list(twins.negative.oracle))])
        assert play.outcomes == [""] * len(twins.negative.oracle)
        assert play.state == twins.negative.initial_state
        assert_shown(twins.negative, play)


def assert_shown(reply: ScenarioReply, play: Play) -> None:
    seen = [str(value) for rows in play.results for row in flatten(rows) for value in row.values()]
    counted = {str(number) for rows in play.results for number in range(len(flatten(rows)) + 1)}
    for fact in reply.tell:
        if fact.kind in ("text", "date"):
            assert str(fact.value) in seen, (fact, play.results)
        elif fact.kind == "number" and fact.name.endswith("howmany"):
            assert str(fact.value) in counted


def flatten(value: object) -> list[dict[str, object]]:
    if isinstance(value, list):
        return [row for each in value for row in flatten(each)]
    return [value] if is_object(value) else []


@pytest.mark.parametrize("polarity", ["refuse", "escalate", "clarify"])
def test_the_twin_differs_in_one_fact_and_can_be_carried_out(polarity: str) -> None:
    for theme, number, twins in list_made(polarity):
        domain, achieving = compose(theme, number), twins.achieving
        assert achieving is not None
        assert achieving.polarity == "achieve"
        assert achieving.initial_state == twins.negative.initial_state
        assert achieving.request != twins.negative.request
        assert twins.differs
        changed = [
            name
            for name, value in achieving.facts.items()
            if twins.negative.facts.get(name) != value
        ]
        assert len(changed) <= (0 if polarity == "escalate" else 3), (
            twins.negative.facts,
            achieving.facts,
        )
        assert (
            play_oracle(domain, achieving.initial_state, achieving.oracle, 0, "twin")
            != achieving.initial_state
        )


def test_what_must_be_refused_breaks_one_rule_and_its_twin_none() -> None:
    for theme, number, twins in list_made("refuse"):
        assert twins.achieving is not None
        domain = compose(theme, number)
        call = twins.achieving.oracle[-1]
        world = DomainWorld(domain, twins.achieving.initial_state, TODAY, "polarity")
        assert world.allows(domain.operations[call.name], call.arguments)
        assert [pattern.name for pattern in twins.negative.avoid] == [call.name]


@pytest.mark.parametrize("key", [45, 50, 84])
def test_another_rule_of_the_operation_is_no_reason(key: int) -> None:
    """An insurer pays nothing above the reserve, and nothing large without approval: both rules
    speak of payments."""
    domain = compose("insurance_claims", 1)
    twins = pose_refuse(populate(domain, f"k{key}"), make_dice("r", key))
    assert twins is not None
    (fact,), (refused,) = twins.negative.tell, twins.negative.avoid
    others = [domain.render_rule(each) for each in domain.operations[refused.name].must]
    assert [each for each in others if re.search(fact.value, each)] in (
        [],
        [fact.name.removeprefix("why not: ")],
    )


@pytest.mark.parametrize("key", [0, 5])
def test_nobody_is_called_by_a_title_alone(key: int) -> None:
    twins = pose_clarify(
        populate(compose("conference_programme", 0), f"k{key}"), make_dice("c", key)
    )
    assert twins is not None
    assert not re.search(r"\bProf\b(?! [A-Z])", twins.negative.request)


def test_what_is_to_be_clarified_names_every_candidate() -> None:
    several = [
        twins.negative for _, _, twins in list_made("clarify") if len(twins.negative.tell) > 1
    ]
    for reply in several:
        assert all(fact.value in reply.say for fact in reply.tell)
        assert reply.say.count("?") >= 1


@pytest.mark.parametrize("theme", ["insurance_claims", "charity_grants"])
def test_a_question_stands_in_no_policy_document(theme: str) -> None:
    """`Do exactly what is asked` asks for no amount, also where the amount is called `asked`."""
    domain = compose(theme, 0)
    twins = [pose_clarify(populate(domain, f"k{key}"), make_dice("c", key)) for key in range(12)]
    patterns = [
        str(fact.value)
        for one in twins
        if one
        for fact in one.negative.tell
        if fact.kind == "pattern"
    ]
    assert patterns
    assert not [each for each in patterns if re.search(each, write_policy(domain))]


def test_policy_documents_name_two_matters_and_requests_of_doing_show_none() -> None:
    signs = [sign for matter in load_matters().values() for sign in matter.signs]
    assert len(load_matters()) >= 6
    for theme in THEMES:
        policy = write_policy(compose(theme, 0))
        assert sum(matter.clause in policy for matter in load_matters().values()) == 2
    for theme in SAMPLE:
        request = ask_scenario(theme, 0, 0).request
        assert not any(sign in request for sign in signs)


def test_the_same_question_gives_the_same_bytes_for_every_polarity() -> None:
    for polarity, theme, number in CASES[::5]:
        inputs = pose("scenario", theme, number, number=number, polarity=polarity)
        assert author.answer("scenario", inputs, SEED, 0, 0.0) == author.answer(
            "scenario", inputs, SEED, 0, 0.0
        )


def test_questions_are_of_many_sorts() -> None:
    """Over all trades: a few of them may ask alike."""
    sorts = {
        twins.negative.tell[0].name
        for theme in THEMES
        if (twins := make("answer", theme, NUMBERS[0]))
    }
    assert len(sorts) >= 3
    asked = [twins.negative.request for _, _, twins in list_made("answer")]
    assert len(set(asked)) == len(asked)
