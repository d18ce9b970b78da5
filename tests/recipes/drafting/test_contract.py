"""The person behind a scenario: what the author makes of them holds, and what does not hold is found."""

from typing import Any

import pytest

import offline as author
from envmill.language.mentions import is_told
from envmill.recipes.drafting.contract import find_contract_faults, make_contract
from schemas.prompts import ScenarioReply
from tests.offline.questions import SAMPLE, SEED, ask_scenario, pose

PERSON: dict[str, Any] = {
    "initial_state": {}, "oracle": [], "request": "Lend the ladder to Maya Okoro until 14 March 2026, for 12 euros.",
    "opening": "I want to lend something to Maya Okoro until a certain day, for 12 euros.",
    "facts": {"tool": "ladder", "day": "2026-03-14", "member": "Maya Okoro", "fee": 12}, "hidden": ["tool", "day"],
}  # fmt: skip


def test_a_contract_opens_with_what_is_not_hidden() -> None:
    reply = ScenarioReply.model_validate(PERSON)
    assert not [*find_contract_faults(reply)]
    assert make_contract(reply).opening == PERSON["opening"]
    assert make_contract(reply.model_copy(update={"hidden": []})).opening == PERSON["request"]


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        pytest.param({"hidden": ["shelf"]}, "user_lacks_fact", id="hides what nobody knows"),
        pytest.param({"opening": " "}, "no_opening", id="says nothing first"),
        pytest.param({"hidden": ["member"]}, "opening_tells", id="names whom it hides"),
        pytest.param({"hidden": ["fee"]}, "opening_tells", id="says the amount it hides"),
        pytest.param({"facts": PERSON["facts"] | {"day": "2026-03-15"}}, "user_contradicts", id="another day when asked"),
    ],
)
def test_what_does_not_hold_is_found(changes: dict[str, Any], code: str) -> None:
    assert code in [found for found, _ in find_contract_faults(ScenarioReply.model_validate(PERSON | changes))]


@pytest.mark.parametrize(
    ("value", "text", "told"),
    [
        pytest.param("2026-03-14", "on the 14th of March 2026", True, id="a date otherwise spelled"),
        pytest.param(12, "twelve euros", True, id="a number in words"),
        pytest.param(12, "on 12 March 2026", False, id="a number in a date"),
        pytest.param("the hold of Maya Okoro", "a hold", False, id="the sort alone"),
        pytest.param("the hold of Maya Okoro", "The hold of MAYA OKORO, please", True, id="other case"),
    ],
)
def test_telling_is_read_as_people_write(value: Any, text: str, told: bool) -> None:
    assert is_told(value, text) is told


@pytest.mark.parametrize("theme", SAMPLE)
def test_the_author_s_people_hide_something_and_hold(theme: str) -> None:
    replies = [ask_scenario(theme, number, 0) for number in range(4)]
    assert not [fault for reply in replies for fault in find_contract_faults(reply)]
    # One wish that a name tells whole leaves nothing to hide.
    reply = next(reply for reply in replies if reply.hidden)
    assert (reply.persona, reply.stop, reply.fallbacks.get("")) > ("", "", "")
    assert len(reply.goals) >= 2
    assert reply.opening != reply.request


@pytest.mark.parametrize("kind", ["contradictory_user", "user_lacks_fact", "opening_tells_all", "opening_missing"])
def test_a_planted_fault_of_the_person_is_found(kind: str) -> None:
    # Some scenarios hide nothing, or no amount and no day: several of each theme, so that one at least can be spoilt.
    planted = [author.plant("scenario", kind, pose("scenario", theme, number), SEED, 0) for theme in SAMPLE for number in range(4)]
    texts = [fault.text for fault in planted if fault is not None]
    assert texts
    assert all([*find_contract_faults(ScenarioReply.model_validate_json(text))] for text in texts)
