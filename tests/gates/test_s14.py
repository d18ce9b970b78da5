"""S14: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s14
from envmill.gates.base import Finding, ScenarioCase
from schemas.environment import Call
from schemas.scenario import Check, Fact, UserContract
from tests.gates.cases import (
    ANY_BOOKING,
    BOOK,
    FIND,
    LIST,
    LOOK_UP,
    TOP_UP,
    Case,
    answer,
    ask,
    check,
    judge_cases,
    loose,
)
from tests.gates.specimens import pose

FULL = Check(name="full", op="equals", path=["classes", "C2", "free"], value=0)
GONE = Check(name="gone", op="equals", path=["bookings", "B1", "status"], value="cancelled")
CANCEL = pose(
    verifier=loose(GONE),
    number=1,
    oracle=[Call(name="cancel_booking", arguments={"booking_id": "B1"})],
).scenario
GLAZING = pose(
    verifier=loose(FULL),
    number=2,
    oracle=[Call(name="book_seats", arguments={"member_id": "M2", "class_id": "C2", "seats": 1})],
).scenario
SAME = ask("Ada Kern would like a seat at the wheel on Tuesday, and brings 25.", number=3).scenario
LONGER = ask(
    "Book a place in Tuesday's wheel class for Ada Kern, please, and 25 onto her account.",
    number=4,
    oracle=[LIST, FIND, TOP_UP, BOOK],
).scenario
LOST = pose(number=5, oracle=[Call(name="cancel_booking", arguments={"booking_id": "B9"})]).scenario


def refuse(request: str, **facts: str) -> ScenarioCase:
    """Left alone for a reason that is the same whatever it is about."""
    why = Fact(name="why not", kind="pattern", value="(?i)\\bclosed", rivals=["full"])
    left = answer(
        why,
        request=request,
        polarity="refuse",
        say="The studio is closed for it.",
        oracle=[LOOK_UP],
        number=9 - len(facts),
    )
    return ScenarioCase(
        left.scenario.model_copy(update={"user": UserContract(opening=request, facts=dict(facts))}),
        left.environment,
    )


GLAZE = refuse("Put Bo Lind into the glazing class.", member="Bo Lind", course="glazing")
WHEEL = refuse("Ada Kern wants the wheel class.", member="Ada Kern").scenario
AGAIN = refuse(
    "I would have Bo Lind in that glazing class.", member="Bo Lind", course="glazing", day="Tuesday"
).scenario

CASES = {
    "the same reason, about somebody else": Case(
        ScenarioCase(WHEEL, GLAZE.environment, (GLAZE.scenario,))
    ),
    "the same reason, about the same": Case(
        ScenarioCase(GLAZE.scenario, GLAZE.environment, (AGAIN,)), "repeats_sibling"
    ),
    "any booking will do": Case(
        pose(verifier=loose(ANY_BOOKING), siblings=[CANCEL, GLAZING]), "sibling_passes"
    ),
    "any booking, as for another member": Case(
        pose(number=9, verifier=loose(ANY_BOOKING), siblings=[GLAZING]), "sibling_passes"
    ),
    "the same in other words": Case(pose(number=9, siblings=[CANCEL, SAME]), "repeats_sibling"),
    "the same in another order": Case(pose(number=9, siblings=[LONGER]), "repeats_sibling"),
    "the same in the same words, which F4 drops": Case(
        pose(number=9, siblings=[pose(number=6).scenario])
    ),
    "repeated by a later one": Case(pose(siblings=[SAME])),
    "others": Case(pose(siblings=[CANCEL, GLAZING])),
    "one that does not replay here": Case(pose(siblings=[LOST])),
    "one of another environment": Case(
        pose(siblings=[CANCEL, SAME.model_copy(update={"environment": "env_x"})])
    ),
    "alone": Case(pose(), outcome="not_applicable"),
    "itself among them": Case(pose(siblings=[pose().scenario]), outcome="not_applicable"),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s14.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s14(name: str) -> None:
    check(find_all()[name], CASES[name])
