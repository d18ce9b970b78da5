"""The small language means the same to the domain model and to the program it is rendered as."""

from datetime import date
from typing import Any

import pytest

from offline.domain import (
    Attribute,
    Collection,
    Domain,
    Lookup,
    Operation,
    OperationParameter,
    Rule,
    WriteStep,
    spread,
)
from offline.formula import parse_expression, render
from offline.knowledge import load_domain
from offline.world import DomainWorld

ROOMS = Collection(
    "room",
    ("rm",),
    "{number}",
    Lookup("list_rooms", {}),
    {"number": Attribute(), "rate": Attribute()},
)
RESERVE = Operation(
    does="Reserve.",
    gives="room",
    name="reserve",
    takes=(
        OperationParameter("room_id", "", row="rooms"),
        OperationParameter("from_day", "", day=(1, 9)),
        OperationParameter("nights", "", between=(1, 5)),
    ),
    fetch=(WriteStep("until = later(from_day, nights)"),),
    must=(Rule("until <= '2026-04-01'", "too_late", "", ""),),
    then=(
        WriteStep("for row in each(rooms, True): cost = row.rate * nights; row.rate = cost"),
        WriteStep("room.until = until"),
    ),
)


def make_world() -> DomainWorld:
    rooms: dict[str, dict[str, Any]] = {
        "rm_1": {"id": "rm_1", "number": "1", "rate": 2.5},
        "rm_2": {"id": "rm_2", "number": "2", "rate": 4},
    }
    whole = Domain(
        "hotel", "", ("",), "", (), {"most": (3,)}, {}, {"rooms": ROOMS}, {"reserve": RESERVE}
    )
    return DomainWorld(whole, {"rooms": rooms}, date(2026, 3, 2), "test")


@pytest.mark.parametrize(
    ("text", "source", "value"),
    [
        ("7 // 2 + 7 % 2", "(7 // 2) + (7 % 2)", 4),
        ("-most", "-MOST", -3),
        ("'a' if most > 3 else 'b'", '("a" if MOST > 3 else "b")', "b"),
        ("min(most, 2) + max(1, 0)", "min(MOST, 2) + max(1, 0)", 3),
        ("rounded(0.1 + 0.2)", "round(0.1 + 0.2, 2)", 0.3),
        (
            "days('2026-03-02', '2026-03-30')",
            '(date.fromisoformat("2026-03-30") - date.fromisoformat("2026-03-02")).days',
            28,
        ),
        ("highest(rooms, row.rate, row.number == '1')", None, 2.5),
        ("highest(rooms, row.rate, row.number == '9')", None, 0),
    ],
)
def test_expression_is_rendered_and_valued(text: str, source: str | None, value: Any) -> None:
    world = make_world()
    assert world.value(parse_expression(text), dict(world.domain.bounds)) == value
    assert source in (None, render(parse_expression(text), world.domain))


def test_what_is_no_date_is_refused_before_anything_is_reckoned_from_it() -> None:
    arguments = {"room_id": "rm_1", "from_day": "soon", "nights": 9}
    assert make_world().find_violations(RESERVE, arguments) == [
        "from_day_no_date",
        "nights_out_of_range",
    ]
    assert make_world().find_violations(
        RESERVE, arguments | {"from_day": "2026-03-30", "nights": 5}
    ) == ["too_late"]


def test_dates_written_another_way_mean_the_same_and_a_loop_keeps_its_names() -> None:
    world = make_world()
    world.apply(RESERVE, {"room_id": "rm_1", "from_day": "20260305", "nights": 2})
    assert world.state["rooms"]["rm_1"]["until"] == "2026-03-07"
    assert [row["rate"] for row in world.state["rooms"].values()] == [5.0, 8]


def test_steps_stay_within_their_bounds() -> None:
    assert {spread(0.5, 2.0, 0.5, index) for index in range(99)} == {0.5, 1.0, 1.5, 2.0}
    assert {spread(1, 8, 3, index) for index in range(99)} == {1, 4, 7}


def test_lookups_a_file_leaves_out_are_written() -> None:
    operations = load_domain("hotel_booking").operations
    assert operations["find_guest"].takes[0].find == "guests.name"
    assert operations["list_guest_stays"].gives == "rows(stays, row.guest_id == guest.id)"
    assert operations["list_items"].feature == "minibar"
    assert not operations["list_items"].takes
