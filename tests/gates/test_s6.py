"""S6: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s6
from envmill.gates.base import Finding
from schemas.scenario import CallPattern, Check, Fact, Predicate
from tests.gates.cases import SIXTY, Case, answer, check, derived, judge_cases
from tests.gates.specimens import pose

BOOKED = next(goal for goal in derived().goals if goal.op == "present")
TODAY = BOOKED.model_copy(update={"value": BOOKED.value | {"booked_on": "2026-03-02"}})
KEYED = Check(
    name="the booking has this key",
    op="equals",
    path=["bookings", "booking_00000001", "status"],
    value="booked",
)
ONCE = Predicate(name="looked up once", op="at_most", most=1, call=CallPattern(name="find_members"))
FIRST = Predicate(
    name="money before seats",
    op="before",
    call=CallPattern(name="book_seats"),
    first=CallPattern(name="top_up"),
)
LOUD = Fact(name="the balance", kind="pattern", value="has 60 euros")
BERTH = Fact(name="the sail number", kind="text", value="GER 3140")
YEAR = Fact(name="until when", kind="pattern", value=r"(?i)may 2026")
THOUSANDS = Fact(name="the balance", kind="number", value=3140)
RARE = Predicate(name="books once", op="at_most", most=1, call=CallPattern(name="book_seats"))

CASES = {
    "reads are counted": Case(pose(verifier=derived(procedure=[ONCE])), "refuses_reads"),
    "only these very letters": Case(answer(LOUD), "refuses_wording"),
    "a key that chance gave": Case(
        pose(
            verifier=derived(
                goals=[
                    *(goal for goal in derived().goals if goal.op != "present"),
                    BOOKED.model_copy(update={"value": BOOKED.value | {"id": "booking_2d4f3a6c"}}),
                ]
            )
        ),
        outcome="not_measured",
    ),
    "no reference path": Case(pose(oracle=[]), outcome="not_measured"),
    "as it is": Case(pose()),
    "an order that the procedure asks for": Case(pose(verifier=derived(procedure=[FIRST]))),
    "writes are counted": Case(pose(verifier=derived(procedure=[RARE]))),
    "dated today, which does not change": Case(
        pose(
            verifier=derived(
                goals=[TODAY, *(goal for goal in derived().goals if goal.op != "present")]
            )
        )
    ),
    "an answer": Case(answer(SIXTY)),
    "a code that looks like a number": Case(answer(BERTH, say="Her boat is GER 3140.")),
    "a year": Case(answer(YEAR, say="Until May 2026, and not longer.")),
    "a large number": Case(answer(THOUSANDS, say="She has 3140 euros.")),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s6.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s6(name: str) -> None:
    check(find_all()[name], CASES[name])
