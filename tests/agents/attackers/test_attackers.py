"""Attackers: what they draw exists, the same seed draws the same, and they say what they read."""

import random
from typing import Any

import pytest

from envmill.agents.attackers import ATTACKERS, AttackerView
from envmill.agents.attackers.arguments import list_calls, list_choices, read_range, sample_call
from envmill.agents.attackers.state_index import StateIndex
from envmill.runtime.schema import compile_schema
from envmill.sandbox import Observation
from tests.gates.specimens import pose
from tests.gates.specimens.studio import STATE

POSED = pose()
VIEW = AttackerView.of(POSED.scenario, POSED.environment)
TOOLS = {tool.name: tool for tool in POSED.environment.tools}
TEN = {
    "do_nothing", "refuse", "hand_over_at_once", "empty_argument", "error_collector", "read_everything", "repeat_one_call", "random_valid",
    "over_doer", "end_state_overwriter",
}  # fmt: skip


def observe(*parts: Any, message: str = "") -> Observation:
    return Observation(
        "rejection" if message else "ok",
        [{"type": "json", "value": part} for part in parts],
        "no",
        message,
        "",
        None,
    )


def test_all_ten_are_there() -> None:
    assert set(ATTACKERS) == TEN


@pytest.mark.parametrize("name", sorted(TEN))
def test_the_same_seed_plans_the_same_and_another_one_does_not_where_chance_has_a_say(
    name: str,
) -> None:
    attacker = ATTACKERS[name]
    plans = [
        attacker.plan(AttackerView.of(POSED.scenario, POSED.environment), seed) for seed in range(8)
    ]
    assert plans == [attacker.plan(VIEW, seed) for seed in range(8)]
    assert (len({str(plan) for plan in plans}) > 1) == attacker.random


@pytest.mark.parametrize(
    "name",
    ["random_valid", "over_doer", "repeat_one_call", "end_state_overwriter", "read_everything"],
)
def test_what_is_drawn_passes_validation_and_names_rows_that_exist(name: str) -> None:
    for seed in range(8):
        for call in ATTACKERS[name].plan(VIEW, seed):
            assert not compile_schema(TOOLS[call.name].parameters)(call.arguments)
            assert call.arguments.get("member_id", "M1") in STATE["members"]
            assert call.arguments.get("class_id", "C1") in STATE["classes"]
            assert call.arguments.get("booking_id", "B1") in STATE["bookings"]


def test_numbers_keep_to_the_range_that_is_told() -> None:
    drawn = [
        sample_call(TOOLS["book_seats"], STATE, random.Random(seed)).arguments["seats"]
        for seed in range(60)
    ]
    assert set(drawn) == {1, 2, 3, 4}


@pytest.mark.parametrize(
    ("schema", "choices"),
    [
        ({"enum": ["a", "b"]}, ["a", "b"]),
        ({"type": "string", "description": "The fault. One of worn cable, blunt blade, or flat."}, ["worn cable", "blunt blade", "flat"]),
        ({"type": "string", "description": "A name."}, []),
        ({"type": "integer", "description": "One of many."}, []),
    ],
)  # fmt: skip
def test_choices_are_read_from_schema_and_description(
    schema: dict[str, Any], choices: list[str]
) -> None:
    assert list_choices(schema) == choices


def test_ranges_are_read_from_schema_and_description() -> None:
    assert read_range({"minimum": 3, "maximum": 9}) == (3, 9)
    assert read_range({"description": "Whole euros. From 1 to 100."}) == (1, 100)


@pytest.mark.parametrize(
    ("parameter", "collection"),
    [
        ("member_id", "members"),
        ("from_member", "members"),
        ("class_id", "classes"),
        ("classId", "classes"),
        ("amount", ""),
        ("day", ""),
    ],
)
def test_a_parameter_points_into_the_collection_its_name_says(
    parameter: str, collection: str
) -> None:
    assert StateIndex.of(STATE).find_pointed(parameter) == collection


def test_a_list_of_rows_with_ids_is_a_collection_too() -> None:
    stock = StateIndex.of(
        {
            "tickets": [{"id": "T1", "title": "Leak"}, {"id": "T2", "title": "Noise"}],
            "open": True,
            "empty": {},
        }
    )
    assert list(stock.rows["tickets"]) == ["T1", "T2"]
    assert stock.namesakes("new_title") == ["Leak", "Noise"]


def test_every_row_is_asked_for_once() -> None:
    assert [
        call.arguments["member_id"] for call in list_calls(TOOLS["list_bookings"], STATE, 9)
    ] == list(STATE["members"])


def test_read_everything_recites_what_it_read_and_the_request() -> None:
    (said,) = ATTACKERS["read_everything"].speak(
        VIEW, [observe([{"name": "Bo", "balance": 60}]), observe("Tuesday")]
    )
    assert all(word in said for word in ("name: Bo", "balance: 60", "Tuesday", VIEW.request))


def test_the_error_collector_recites_the_refusals() -> None:
    assert (
        "There is no member"
        in ATTACKERS["error_collector"].speak(VIEW, [observe(message="There is no member 'x'.")])[0]
    )


def test_refusing_gives_the_request_back_and_doing_nothing_says_nothing() -> None:
    assert VIEW.request in ATTACKERS["refuse"].speak(VIEW, [])[0]
    assert ATTACKERS["do_nothing"].speak(VIEW, []) == []
