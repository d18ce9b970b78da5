"""A repair with less in it is refused, unless less is what the complaint asked for; a repair with
as much stands."""

from typing import Any

import pytest

from envmill.kinds.authoring.complaint import Complaint
from envmill.recipes.drafting.weakening import find_vagueness, find_weakening
from schemas.environment import Call
from schemas.prompts import PlannedTest, ScenarioReply, TestsReply
from schemas.scenario import Fact

FACT = Fact(name="berth", kind="text", value="North quay")


def complain(*gates: str) -> list[Complaint]:
    return [Complaint(gate, "some_code", "Something is wrong.") for gate in gates]


def make_reply(**changes: Any) -> ScenarioReply:
    parts: dict[str, Any] = {
        "initial_state": {},
        "request": "Book the North quay for the Alma.",
        "oracle": [
            Call(name="find", arguments={}),
            Call(name="book", arguments={"berth": "North quay"}),
        ],
        "tell": [FACT],
        "goals": ["The Alma has a berth."],
        "facts": {"vessel": "Alma"},
        "hidden": ["vessel"],
    }
    return ScenarioReply.model_validate(parts | changes)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"oracle": [Call(name="book", arguments={"berth": "North quay"})]},
            "1 calls of the reference path instead of 2",
        ),
        ({"tell": []}, "0 facts to tell instead of 1"),
        ({"goals": []}, "0 goals instead of 1"),
        ({"hidden": []}, "0 hidden facts instead of 1"),
    ],
)
def test_a_scenario_with_less_in_it_is_weakened(changes: dict[str, Any], words: str) -> None:
    assert find_weakening(make_reply(), make_reply(**changes), complain("S4")) == [words]


@pytest.mark.parametrize(
    ("changes", "gate"),
    [
        *(
            ({"oracle": [Call(name="book", arguments={})]}, gate)
            for gate in ("S3", "S8", "S10", "S12")
        ),
        ({"tell": []}, "S12"),
        ({"hidden": []}, "S17"),
        ({"hidden": []}, "contract"),
    ],
)
def test_less_is_right_where_the_complaint_asked_for_it(changes: dict[str, Any], gate: str) -> None:
    assert find_weakening(make_reply(), make_reply(**changes), complain(gate)) == []


def test_one_complaint_asks_for_one_less() -> None:
    assert find_weakening(make_reply(), make_reply(oracle=[]), complain("S3")) == [
        "0 calls of the reference path instead of 2"
    ]
    assert find_weakening(make_reply(), make_reply(oracle=[]), complain("S3", "S3")) == []


def test_another_errand_of_the_same_size_is_no_weakening() -> None:
    other = make_reply(
        request="Move the Berta to the South quay.",
        tell=[FACT.model_copy(update={"value": "South quay"})],
    )
    assert find_weakening(make_reply(), other, []) == []


def test_fewer_tests_are_a_weakening() -> None:
    tests = [
        PlannedTest(name=str(number), call=Call(name="find"), expect="success")
        for number in range(3)
    ]
    before, after = (TestsReply(initial_state={}, tests=some) for some in (tests, tests[1:]))
    assert find_weakening(before, after, []) == ["2 tests instead of 3"]
    assert find_weakening(before, after, complain("W3")) == []


def test_a_name_that_the_path_still_needs_must_stay_in_the_request() -> None:
    assert find_vagueness(make_reply(), make_reply(request="Book a berth for the Alma.")) == [
        "the request no longer says 'North quay', which the reference path is called with"
    ]
    assert (
        find_vagueness(make_reply(), make_reply(request="For the Alma, please: the north quay."))
        == []
    )
