"""Which tools break their rules by themselves: flags of one tool against what the checker flags
elsewhere."""

from collections.abc import Sequence

import pytest

from envmill.gates.base import GateContext
from envmill.gates.error_corrected_rate import Proportion
from envmill.gates.exploring.exploration import explore
from envmill.gates.exploring.memory import find_program
from envmill.gates.faulty_tools import (
    CaseOpinion,
    exceed,
    find_broken,
    find_further,
    list_suspects,
    weigh_corner,
)
from envmill.gates.review import ReviewedCall, StateCall
from envmill.sandbox import Observation, Sandbox
from envmill.sandbox.plan import Outcome
from schemas.environment import Call
from tests.gates.specimens import ground
from tests.gates.specimens.studio import STATE

SILENT = Proportion(0, 20)


def hear(tool: str, flags: str, outcome: Outcome = "ok") -> list[CaseOpinion]:
    """One opinion a letter: `f` for fail, `.` for pass."""
    return [
        CaseOpinion(
            ReviewedCall(
                StateCall({}, Call(name=tool, arguments={"n": n})),
                Observation(outcome, [], "", "", "", None),
                [],
            ),
            "fail" if flag == "f" else "pass",
            "",
        )
        for n, flag in enumerate(flags)
    ]


def fleet(tools: int, flags: str) -> list[CaseOpinion]:
    """Other tools, all alike."""
    return [one for number in range(tools) for one in hear(f"tool_{number}", flags)]


@pytest.mark.parametrize(
    ("heard", "alarms"),
    [
        pytest.param([*fleet(19, "..."), *hear("pay", "ffff")], SILENT, id="all of four"),
        pytest.param([*fleet(19, "..."), *hear("pay", "fff..fff")], SILENT, id="most of eight"),
        pytest.param(
            [*fleet(19, "..f."), *hear("pay", "ffffffffffff")],
            Proportion(4, 20),
            id="a checker that is easily alarmed",
        ),
        pytest.param(
            [*fleet(9, "..."), *hear("pay", "fffff", "rejection")],
            SILENT,
            id="refused for no reason",
        ),
    ],
)
def test_a_tool_flagged_more_often_than_alarms_explain(
    heard: Sequence[CaseOpinion], alarms: Proportion
) -> None:
    assert [one.tool for one in find_broken(heard, alarms)] == ["pay"]


@pytest.mark.parametrize(
    ("heard", "alarms"),
    [
        pytest.param([*fleet(19, "..."), *hear("pay", "ff")], SILENT, id="both of two"),
        pytest.param([*fleet(19, "..."), *hear("pay", "f...........")], SILENT, id="one of many"),
        pytest.param(
            [*fleet(19, "f.f."), *hear("pay", "fff.")], SILENT, id="no more than the others"
        ),
        pytest.param(
            [*fleet(19, "..."), *hear("pay", "fff", "rejection")],
            Proportion(8, 20),
            id="as right refusals are",
        ),
        pytest.param(hear("pay", "fff"), Proportion(0, 0), id="nothing to compare with"),
        pytest.param(fleet(19, "..."), SILENT, id="nothing flagged"),
    ],
)
def test_a_tool_that_alarms_explain(heard: Sequence[CaseOpinion], alarms: Proportion) -> None:
    assert find_broken(heard, alarms) == []


@pytest.mark.parametrize(
    ("flags", "beside", "broken"),
    [
        ("fffff", "..........", True),
        ("fff", "......", True),
        ("ff", "....", False),
        ("fffff", "fffff.....", False),
        ("f....", "", False),
    ],
)
def test_a_corner_is_held_against_what_lies_beside_it(
    flags: str, beside: str, broken: bool
) -> None:
    found = weigh_corner(hear("pay", flags), hear("pay", beside), fleet(19, "..."), SILENT)
    assert (found.tool, found.flagged.n) == ("pay", len(flags))
    assert (found.chance < 0.002) == broken


def test_few_are_looked_at_closer_the_most_flagged_first() -> None:
    heard = [
        *hear("one", "f.."),
        *hear("three", "fff"),
        *hear("none", "..."),
        *hear("two", "ff."),
        *fleet(9, "f.."),
    ]
    assert list_suspects(heard)[:2] == ["three", "two"]
    assert len(list_suspects(heard)) == 4


def test_chance_of_so_many_or_more() -> None:
    assert exceed(0, 5, 0.1) == 1.0
    assert exceed(2, 2, 0.1) == pytest.approx(0.01)
    assert exceed(1, 2, 0.5) == pytest.approx(0.75)


@pytest.mark.asyncio(loop_scope="module")
async def test_what_hardly_ever_succeeds_is_tried_on_other_states(sandbox: Sandbox) -> None:
    studio, known = (
        ground(),
        StateCall(STATE, Call(name="cancel_booking", arguments={"booking_id": "B1"})),
    )
    exploration = await explore(studio, GateContext(sandbox))
    found = await find_further(exploration, [known], 4, find_program(studio.environment), sandbox)
    assert [case.seen.outcome for case in found] == ["ok"] * 3
    assert {case.asked.call.name for case in found} == {"cancel_booking"}
    assert known.key not in {case.asked.key for case in found}
