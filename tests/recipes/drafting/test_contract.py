"""The person behind a scenario: what the author makes of them holds, and what does not hold is
found."""

from typing import Any

import pytest

import offline as author
from envmill.language.mentions import is_told
from envmill.recipes.drafting.contract import find_contract_faults, make_contract
from schemas.environment import Call
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
        pytest.param(
            {"facts": PERSON["facts"] | {"day": "2026-03-15"}},
            "user_contradicts",
            id="another day when asked",
        ),
    ],
)
def test_what_does_not_hold_is_found(changes: dict[str, Any], code: str) -> None:
    assert code in [
        found for found, _ in find_contract_faults(ScenarioReply.model_validate(PERSON | changes))
    ]


PAID = Call(name="lend_tool", arguments={"member_id": "M1", "fee": 12})
TWICE = [PAID, Call(name="lend_tool", arguments={"member_id": "M1", "fee": 8})]


@pytest.mark.parametrize(
    ("request_", "fee", "oracle", "codes"),
    [
        pytest.param(
            "Do two things: lend it for 12 euros, and file it.",
            2,
            [PAID],
            ["user_contradicts"],
            id="a-number-of-something-else",
        ),
        pytest.param("Lend it for 12 euros.", 12, [PAID], [], id="the-same-number"),
        pytest.param("Lend both for 12 and 8, so 20 euros.", 20, TWICE, [], id="the-sum"),
        pytest.param("Lend both for 12 and 8 euros.", 8, TWICE, [], id="the-other-of-two"),
        pytest.param("Lend it for 2 euros more than now.", 2, [PAID], [], id="worked-out"),
        pytest.param(
            "Lend it for 12 euros to member 2.",
            2,
            [Call(name="lend", arguments={"who": 2, "fee": 12})],
            [],
            id="used-elsewhere",
        ),
    ],
)
def test_a_number_that_the_request_has_of_something_else_is_no_answer(
    request_: str, fee: int, oracle: list[Call], codes: list[str]
) -> None:
    said = PERSON | {
        "request": request_,
        "opening": "Lend it, please.",
        "facts": {"fee": fee},
        "hidden": ["fee"],
        "oracle": oracle,
    }
    assert [code for code, _ in find_contract_faults(ScenarioReply.model_validate(said))] == codes


def test_the_contradiction_is_told_before_the_number_that_the_opening_has_of_something_else() -> (
    None
):
    opening = "Do two things: lend it, and file it."
    said = PERSON | {
        "request": f"{opening} It costs 12 euros.",
        "opening": opening,
        "facts": {"fee": 2},
        "hidden": ["fee"],
        "oracle": [PAID],
    }
    assert [code for code, _ in find_contract_faults(ScenarioReply.model_validate(said))] == [
        "user_contradicts",
        "opening_tells",
    ]


@pytest.mark.parametrize(
    ("value", "text", "told"),
    [
        pytest.param(
            "2026-03-14", "on the 14th of March 2026", True, id="a date otherwise spelled"
        ),
        pytest.param(12, "twelve euros", True, id="a number in words"),
        pytest.param(12, "on 12 March 2026", False, id="a number in a date"),
        pytest.param("the hold of Maya Okoro", "a hold", False, id="the sort alone"),
        pytest.param(
            "the hold of Maya Okoro", "The hold of MAYA OKORO, please", True, id="other case"
        ),
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


@pytest.mark.parametrize(
    "kind", ["contradictory_user", "user_lacks_fact", "opening_tells_all", "opening_missing"]
)
def test_a_planted_fault_of_the_person_is_found(kind: str) -> None:
    # Some scenarios hide nothing, or no amount and no day: several of each theme, so that one at
    # least can be spoilt.
    planted = [
        author.plant("scenario", kind, pose("scenario", theme, number), SEED, 0)
        for theme in SAMPLE
        for number in range(4)
    ]
    texts = [fault.text for fault in planted if fault is not None]
    assert texts
    assert all([*find_contract_faults(ScenarioReply.model_validate_json(text))] for text in texts)
