"""Tables made larger: what is copied holds together as the first did, and a round that disturbs the
path is not kept."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.gates.base import Finding
from envmill.recipes import RECIPES, check_recipe
from envmill.recipes.drafting.enlarging import copy_families, count_rows, enlarge, find_families
from envmill.recipes.drafting.themes import read_themes
from envmill.sandbox import Look, Program, Reset, Sandbox
from envmill.stages.context import RunContext, Subject
from envmill.stages.generate import generate_draft
from envmill.stages.places import ScenarioSlot
from schemas.database import Column, Table
from schemas.run import RunConfig
from schemas.scenario import Draft
from tests.offline.questions import SEED
from tests.trust.tabled import Planted, make

CLOCK = "2026-03-01T09:00:00Z"


def make_table(name: str, *columns: str, **refers: str) -> Table:
    return Table(
        name=name,
        key=["id"],
        columns=[Column(name=each, references=refers.get(each, "")) for each in ("id", *columns)],
    )


MEMBERS = make_table("members", "name", "bookings", "status")
BOOKINGS = make_table("bookings", "member_id", "number", "on", member_id="members.id")
ZONES = make_table("zones", "letter")
PERMITS = make_table("permits", "zone")
TABLES = [MEMBERS, BOOKINGS, ZONES, PERMITS]
STATE: dict[str, Any] = {
    "members": {
        "mem_1a2b3c": {"id": "mem_1a2b3c", "name": "Ada Kern", "bookings": 2, "status": "active"},
        "mem_4d5e6f": {"id": "mem_4d5e6f", "name": "Bo Lind", "bookings": 0, "status": "left"},
    },
    "bookings": {
        "7": {"id": 7, "member_id": "mem_1a2b3c", "number": "B-0007", "on": "2026-03-04"},
        "9": {"id": 9, "member_id": "mem_1a2b3c", "number": "B-0009", "on": "2026-03-05"},
    },
    "zones": {"A": {"id": "A", "letter": "A"}},
    "permits": {"per_123456": {"id": "per_123456", "zone": "A"}},
}


def copy(state: Mapping[str, Any] = STATE) -> dict[str, Any]:
    return copy_families(dict(state), TABLES, random.Random(1))


def test_tables_are_tied_by_what_refers_and_by_keys_that_stand_in_a_row() -> None:
    assert [[table.name for table in family] for family in find_families(TABLES, STATE)] == [
        ["members", "bookings"],
        ["zones", "permits"],
    ]


def test_a_copy_has_keys_and_names_of_its_own_and_the_same_ties() -> None:
    larger = copy()
    assert all(
        larger[name][key] == row for name, rows in STATE.items() for key, row in rows.items()
    )
    members, bookings = (
        {key: row for key, row in larger[name].items() if key not in STATE[name]}
        for name in ("members", "bookings")
    )
    assert all(key == str(row["id"]) for rows in (members, bookings) for key, row in rows.items())
    assert {row["name"] for row in members.values()}.isdisjoint({"Ada Kern", "Bo Lind"})
    assert sorted(row["bookings"] for row in members.values()) == [0, 2]
    (booker,) = {row["member_id"] for row in bookings.values()}
    assert members[booker]["bookings"] == len(bookings) == 2
    assert {row["number"] for row in bookings.values()}.isdisjoint({"B-0007", "B-0009"})
    assert sorted(row["on"] for row in bookings.values()) == ["2026-03-04", "2026-03-05"]
    assert sorted(row["id"] for row in bookings.values()) == [10, 11]


def test_what_cannot_be_called_otherwise_leaves_its_whole_family_as_it_is() -> None:
    assert (copy()["zones"], copy()["permits"]) == (STATE["zones"], STATE["permits"])


def test_names_that_would_meet_a_known_one_are_drawn_anew() -> None:
    names = {
        f"m_{number:06x}": {
            "id": f"m_{number:06x}",
            "name": f"No {number}",
            "bookings": 0,
            "status": "x",
        }
        for number in range(8)
    }
    larger = copy(STATE | {"members": names, "bookings": {}})["members"]
    assert len({row["name"] for row in larger.values()}) == len(larger) == 16


async def test_rounds_end_with_the_first_that_is_not_kept() -> None:
    async def holds(state: dict[str, Any]) -> tuple[str, str] | None:
        return ("does_otherwise", "") if count_rows(state) > 10 else None

    state, rounds = await enlarge(STATE, TABLES, 5, random.Random(1), holds)
    assert [(one.before, one.after, one.reason) for one in rounds] == [
        (6, 10, ""),
        (10, 18, "does_otherwise"),
    ]
    assert count_rows(state) == 10


async def test_where_nothing_can_be_copied_nobody_is_asked() -> None:
    async def holds(_: dict[str, Any]) -> tuple[str, str] | None:
        raise AssertionError

    state, rounds = await enlarge({"zones": STATE["zones"]}, [ZONES], 2, random.Random(1), holds)
    assert (state, [one.reason for one in rounds]) == (
        {"zones": STATE["zones"]},
        ["nothing_copied"],
    )


async def pose(
    jail: Sandbox, theme: str, rounds: int | None, polarity: str = "achieve"
) -> tuple[Draft, list[Finding], Program]:
    nothing: Any = None
    built = await make("awm", theme, 0, Planted(), jail)
    assert not isinstance(built, str)
    config = RunConfig.model_validate(
        {"recipe": "awm", "seed": SEED, "polarities": {polarity: 1}, "enlarge": rounds}
    )
    recipe = RECIPES["awm"](read_themes())
    models: Any = Planted()
    done = await generate_draft(
        Subject("x", "y", theme, ScenarioSlot(built.environment, 0)),
        RunContext("r", config, nothing, recipe, nothing, jail),
        models,
    )
    (draft,) = (one for one in done.records if isinstance(one, Draft))
    return (
        draft,
        [one for one in done.findings if one.gate.startswith("enlarge")],
        Program.of(built.environment),
    )


@pytest.mark.long(cases=1)
@pytest.mark.parametrize("theme", ["hotel_booking", "tool_lending", "laboratory_samples"])
async def test_a_scenario_over_more_records_asks_for_the_same_and_comes_to_the_same(
    theme: str, jail: Sandbox
) -> None:
    plain, none, _ = await pose(jail, theme, None)
    larger, findings, program = await pose(jail, theme, 2)
    kept = [one for one in findings if one.outcome == "kept"]
    assert none == []
    assert kept
    assert (larger.request, larger.oracle, larger.changes) == (
        plain.request,
        plain.oracle,
        plain.changes,
    )
    assert (
        count_rows(larger.initial_state)
        == kept[-1].evidence["records_after"]
        > count_rows(plain.initial_state)
    )
    begun, seen = await jail.play(
        program, [Reset(larger.initial_state, larger.clock, larger.seed), Look()]
    )
    assert (begun.outcome, seen.state) == ("ok", larger.initial_state)


def test_a_recipe_without_tables_says_so() -> None:
    with pytest.raises(
        SettingsError,
        match=r"^Recipe envscaler makes no tables .* Take awm, scaleenv, agentscaler, envfactory, "
        r"autoforge with",
    ):
        check_recipe(RunConfig(enlarge=1))
    check_recipe(RunConfig(recipe="awm", enlarge=1))
    check_recipe(RunConfig())


async def test_what_is_not_to_be_achieved_stays_as_it_is(jail: Sandbox) -> None:
    _, findings, _ = await pose(jail, "hotel_booking", 2, "answer")
    assert findings == []
