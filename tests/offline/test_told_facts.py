"""What has to be said where nothing may be done: in whatever words it is said, and by nobody who
has not looked."""

import re
from dataclasses import replace

import pytest

from envmill.verifiers.facts import check_fact
from offline.compose import compose_domain
from offline.dice import make_dice
from offline.domain import OperationParameter
from offline.knowledge import load_domain
from offline.matters import load_matters, pick_matters
from offline.polarities.clarify import ask_for
from offline.polarities.escalate import pose_escalate
from offline.polarities.refuse import pose_refuse
from offline.population import populate
from offline.user import list_vague
from offline.wording import WantedChange
from offline.world import DomainWorld
from schemas.scenario import Fact
from schemas.seed import Brief
from tests.offline.questions import THEMES

WORDS, FEE = (OperationParameter(name=each, about="", between=(1, 9)) for each in ("words", "fee"))
GIVEN_ON = OperationParameter(name="given_on", about="", day=(0, 9))


def settle(theme: str, number: int = 0, only: str = "") -> DomainWorld:
    """A state of a variation, in which one change alone is thought of."""
    domain = compose_domain(Brief(theme=theme, text=THEMES[theme], number=number), 3)
    world = populate(domain, f"told/{number}")
    kept = {
        name: each
        for name, each in domain.operations.items()
        if each.effect == "query" or name == (only or name)
    }
    world.domain = replace(domain, operations=kept)
    return world


@pytest.mark.parametrize(
    ("parameter", "words"),
    [
        pytest.param(WORDS, "How many words is it?", id="how many"),
        pytest.param(WORDS, "Could you tell me the exact word count?", id="by its name"),
        pytest.param(FEE, "What fee should I offer?", id="a fee"),
        pytest.param(FEE, "Please give me the fee, then I enter it.", id="a fee asked for"),
        pytest.param(GIVEN_ON, "Please let me know the date of the donation.", id="the date"),
        pytest.param(GIVEN_ON, "When did Edgar Roth give?", id="when"),
    ],
)
def test_a_question_counts_in_whatever_words(parameter: OperationParameter, words: str) -> None:
    fact = ask_for(parameter)
    check_fact(fact)
    assert re.search(str(fact.value), words)


@pytest.mark.parametrize(
    "words",
    [
        "Which order do you mean?",
        "I have left everything as it is.",
        "The fee is open.",
        "I tell you when it is in.",
    ],
)
def test_what_asks_for_nothing_is_no_question(words: str) -> None:
    assert not any(re.search(str(ask_for(each).value), words) for each in (WORDS, FEE, GIVEN_ON))


def test_how_the_records_stand_is_a_reason_whatever_the_rule_calls_it() -> None:
    facts = _list_reasons("gym_memberships", "let_in", "A member is in the house once.")
    assert facts
    assert all(re.search(str(fact.value), "Bastian Roth is inside already.") for fact in facts)


def test_a_day_is_a_reason_as_the_records_write_it_and_a_limit_as_the_rule_does() -> None:
    facts = _list_reasons("blood_bank", "take_donation", "days.")
    assert facts
    for fact in facts:
        (gap,) = re.findall(r"\d+", fact.name)
        assert re.search(str(fact.value), f"Only {gap} days later.")
        assert re.search(r"\d{4}-\d\d-\d\d", str(fact.value))
        assert not re.search(str(fact.value), "Two donors are waiting; I passed it on.")


def test_the_name_of_what_is_spoken_of_is_no_reason() -> None:
    colours = load_domain("kindergarten_groups").collections["groups"].attributes["colour"].one_of
    assert not [
        fact
        for fact in _list_reasons("kindergarten_groups", "move_carer")
        if any(each in str(fact.value) for each in colours)
    ]


def _list_reasons(theme: str, operation: str, rule: str = "") -> list[Fact]:
    found = [
        pose_refuse(settle(theme, number, operation), make_dice("told", number))
        for number in range(6)
    ]
    return [
        fact for twins in found if twins for fact in twins.negative.tell if fact.name.endswith(rule)
    ]


def test_whoever_passes_it_to_another_desk_has_not_read_which() -> None:
    for number in range(3):
        world = settle("translation_orders", number)
        twins = pose_escalate(world, make_dice("told", number))
        assert twins
        (desk,) = twins.negative.tell[0].rivals
        assert f"the {desk}" in {each.to for each in pick_matters(world.domain)}
        assert str(desk) not in twins.negative.say


def test_no_desk_is_another_one_with_a_word_before_it() -> None:
    desks = {each.to.removeprefix("the ") for each in load_matters().values()}
    assert not [(one, other) for one in desks for other in desks if one != other and one in other]


def test_nothing_is_left_vague_that_stands_behind_a_number() -> None:
    """Nobody asks for "2 a part"."""
    world = settle("fleet_maintenance", 3)
    wishes = [
        WantedChange(
            each,
            {one.name: next(iter(world.state[one.row])) if one.row else 2 for one in each.takes},
        )
        for each in world.domain.changes
        if each.name in ("use_part", "restock_part")
    ]
    assert len(wishes) == 2
    assert [
        name
        for wish in wishes
        for name in list_vague([wish], world.domain, world.state, ())
        if name.startswith("part")
    ] == []
