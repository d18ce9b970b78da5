"""Numbers that a program gives to new rows, or lets go below zero: when W12 suspects them."""

import pytest

from envmill.gates import GATES
from envmill.gates.base import EnvironmentCase, GateContext
from envmill.sandbox import Sandbox
from schemas.base import Json
from schemas.environment import Test
from tests.gates.specimens import make_test, vary
from tests.gates.specimens.pieces import INIT
from tests.gates.specimens.studio import STATE

pytestmark = pytest.mark.asyncio(loop_scope="module")

NUMBERS = ("N-1", "N-2", "N-3")


def give_numbers(
    number: str, held: tuple[str, ...] = NUMBERS, rooms: Json = None
) -> EnvironmentCase:
    """The studio, whose bookings have numbers, and a program that gives a new one the number that
    the expression comes to."""
    rooms_kept = (INIT, f'{INIT}\n        self.rooms = state.get("rooms", {{}})')
    built = vary(
        rooms_kept, ('"status": "booked",', f'"status": "booked",\n            "number": {number},')
    )
    bookings = {
        key: row | {"number": one}
        for (key, row), one in zip(STATE["bookings"].items(), held, strict=True)
    }
    state = STATE | {"bookings": bookings} | ({"rooms": rooms} if rooms else {})
    tests = [
        Test.model_validate(test.model_dump() | {"id": "", "initial_state": state})
        for test in built.tests
    ]
    return EnvironmentCase(built.environment, tuple(tests))


async def look(sandbox: Sandbox, built: EnvironmentCase) -> list[str]:
    return [
        one.reason
        for one in (await GATES["W12"].check(built, GateContext(sandbox))).spread()
        if one.reason
    ]


async def test_a_number_that_another_row_has_is_suspected(sandbox: Sandbox) -> None:
    assert "number_taken" in await look(sandbox, give_numbers('f"N-{len(self.bookings)}"'))


@pytest.mark.parametrize(
    "built",
    [
        pytest.param(
            give_numbers(
                '"N-" + str(max(int(row["number"][2:]) for row in self.bookings.values()) + 1)'
            ),
            id="the next one",
        ),
        pytest.param(give_numbers('"N-1"', ("N-1", "N-1", "N-2")), id="a number that rows share"),
        pytest.param(
            give_numbers('"2026-03-01"', ("2026-03-01", "2026-03-02", "2026-03-03")), id="a day"
        ),
        pytest.param(
            give_numbers('"N-1"', rooms={"R1": {"id": "R1", "number": "N-1"}}),
            id="a number of another table",
        ),
        pytest.param(give_numbers("class_id", ("C1", "C2", "C3")), id="what the caller gave"),
    ],
)
async def test_a_number_that_may_come_again_is_not(
    sandbox: Sandbox, built: EnvironmentCase
) -> None:
    assert "number_taken" not in await look(sandbox, built)


async def test_a_number_goes_below_zero_where_the_caller_says_so(sandbox: Sandbox) -> None:
    built = vary(
        ("if not 1 <= amount <= 100:", "if not -100 <= amount <= 100:"), (" From 1 to 100.", "")
    )
    taken = make_test(built.environment, "top_up", {"member_id": "M1", "amount": -50}, "success")
    assert "below_zero" not in await look(
        sandbox, EnvironmentCase(built.environment, (*built.tests, taken))
    )
