"""S3: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s3
from envmill.gates.base import Finding
from schemas.environment import Call
from schemas.scenario import CallPattern, Fact, Predicate, Verifier
from tests.gates.cases import (
    ANY_BOOKING,
    BOOK,
    FIND,
    LIST,
    SIXTY,
    TOP_UP,
    Case,
    answer,
    check,
    derived,
    judge_cases,
    loose,
)
from tests.gates.specimens import pose

CANCEL = Call(name="cancel_booking", arguments={"booking_id": "B1"})
LOOKED = Predicate(
    name="she was looked up",
    op="required",
    call=CallPattern(name="find_members", arguments={"query": "Ada Kern"}),
)
AGAIN = Fact(name="the sum", kind="text", value="60")


def without(field: str) -> Verifier:
    """The studio's verifier, one of its goals gone; the frame still lets that change."""
    whole = derived()
    return whole.model_copy(
        update={"goals": [goal for goal in whole.goals if field not in goal.path]}
    )


CASES = {
    "money that nobody asks for": Case(
        pose(
            oracle=[
                FIND,
                LIST,
                Call(name="top_up", arguments={"member_id": "M2", "amount": 5}),
                TOP_UP,
                BOOK,
            ],
            verifier=loose(ANY_BOOKING),
        ),
        "superfluous_write",
    ),
    "a cancellation that no check sees": Case(
        pose(
            oracle=[FIND, LIST, TOP_UP, BOOK, CANCEL],
            verifier=derived(frame=[["members"], ["classes"], ["bookings"]]),
        ),
        "superfluous_write",
    ),
    "one fact told by another": Case(answer(SIXTY, AGAIN), "superfluous_fact"),
    "a price that no check sees": Case(pose(verifier=without("balance")), "unseen_change"),
    "seats that no check sees": Case(pose(verifier=without("free")), "unseen_change"),
    "no reference path": Case(pose(oracle=[]), outcome="not_measured"),
    "as it is": Case(pose()),
    "a read that nothing needs": Case(
        pose(oracle=[FIND, LIST, Call(name="list_classes"), TOP_UP, BOOK])
    ),
    "a read that the procedure demands": Case(pose(verifier=derived(procedure=[LOOKED]))),
    "an answer": Case(answer()),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s3.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s3(name: str) -> None:
    check(find_all()[name], CASES[name])
