"""Boundary cases: a move makes both sides of a comparison equal, or gives a number an earlier
value; calls beside them are known."""

import pytest
import pytest_asyncio

from envmill.gates.exploring.boundary_states import find_boundary_case, list_comparisons
from envmill.gates.exploring.earlier_values import find_earlier_values
from envmill.gates.exploring.memory import find_program
from envmill.gates.review import ReviewedCall, StateCall, play
from envmill.sandbox import Sandbox
from schemas.base import Json
from schemas.environment import Call
from tests.gates.specimens import ground, make_studio
from tests.gates.specimens.studio import STATE

pytestmark = pytest.mark.asyncio(loop_scope="module")

STUDIO = ground().environment
PROGRAM = find_program(STUDIO)
CALLS = [
    Call(name="book_seats", arguments={"member_id": "M2", "class_id": "C1", "seats": 1}),
    Call(name="book_seats", arguments={"member_id": "M9", "class_id": "C1", "seats": 1}),
    Call(name="top_up", arguments={"member_id": "M1", "amount": 5}),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def cases(sandbox: Sandbox) -> list[ReviewedCall]:
    return await play(PROGRAM, [StateCall(STATE, call) for call in CALLS], sandbox)


async def test_comparisons_are_those_of_two_values_in_changes() -> None:
    assert [(one.tool, one.text) for one in list_comparisons(STUDIO)] == [
        ("book_seats", "seats > course['free']"),
        ("book_seats", "price > member['balance']"),
    ]


async def test_on_an_edge_both_sides_are_the_same_and_beside_it_one_apart(
    cases: list[ReviewedCall], sandbox: Sandbox
) -> None:
    _, dear = list_comparisons(STUDIO)
    corner = await find_boundary_case(dear, cases, 4, PROGRAM, sandbox)
    assert corner is not None
    assert 1 <= len(corner.asked) <= 4
    assert {_lack(asked) for asked in corner.asked} == {0}
    assert corner.beside
    assert 0 not in map(_lack, corner.beside)
    assert (
        corner.render() == "book_seats where both sides of price > member['balance'] are the same"
    )
    played = await play(PROGRAM, corner.asked, sandbox)
    assert {case.seen.outcome for case in played} == {"ok"}


def _lack(asked: StateCall) -> Json:
    """What a member has less than the seats cost."""
    given, state = asked.call.arguments, asked.state
    return (
        given["seats"] * state["classes"][given["class_id"]]["price"]
        - state["members"][given["member_id"]]["balance"]
    )


async def test_nothing_is_found_where_no_call_comes_to_a_comparison(
    cases: list[ReviewedCall], sandbox: Sandbox
) -> None:
    _, dear = list_comparisons(STUDIO)
    assert await find_boundary_case(dear, cases[1:], 4, PROGRAM, sandbox) is None


async def test_a_number_that_is_set_stood_elsewhere_and_the_call_is_carried_out_all_the_same(
    cases: list[ReviewedCall], sandbox: Sandbox
) -> None:
    corners = await find_earlier_values(cases, 3, PROGRAM, sandbox)
    assert {corner.render() for corner in corners} >= {
        "top_up where members.balance stood elsewhere before"
    }
    assert {tuple(corner.what.split()[:1]) for corner in corners} == {
        ("members.balance",),
        ("classes.free",),
    }
    for corner in corners:
        assert STATE not in [asked.state for asked in corner.asked]
        assert {case.seen.outcome for case in await play(PROGRAM, corner.asked, sandbox)} == {"ok"}


async def test_what_sets_a_number_to_what_it_is_may_set_it_wrongly(sandbox: Sandbox) -> None:
    """An amount of 5 replaces a total of 5."""
    state = STATE | {"members": STATE["members"] | {"M1": STATE["members"]["M1"] | {"balance": 5}}}
    spoilt = {
        "program.py": STUDIO.files["program.py"].replace(
            'member["balance"] += amount', 'member["balance"] = amount'
        )
    }
    program = find_program(make_studio(spoilt["program.py"]))
    same = await play(program, [StateCall(state, CALLS[2])], sandbox)
    assert not same[0].changes
    (corner,) = await find_earlier_values(same, 3, program, sandbox)
    assert {asked.state["members"]["M1"]["balance"] for asked in corner.asked} == {8, 6, 12}
