"""S11: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s11
from envmill.gates.base import Finding
from schemas.scenario import Check, Verifier
from tests.gates.cases import Case, answer, check, derived, judge_cases, loose
from tests.gates.specimens import pose, vary

COINS = vary(('member["balance"] += amount', 'member["balance"] += amount + hash("coin") % 7'))
ORDER = vary(
    (
        "return [dict(row) for row in self.classes.values()",
        'return [dict(self.classes[key], tags=list({"a", "b", "c", key})) for key in '
        "self.classes for row in [self.classes[key]]",
    )
)
NOTE = vary(
    (
        '"status": "booked",',
        '"status": "booked", "note": ",".join({"kiln", "clay", "glaze", "wheel"}),',
    )
)
FICKLE = (
    'def check(initial, final):\n    return hash("x") % 2 == 0 and len(final["bookings"]) == 4\n'
)
STEADY = 'def check(initial, final):\n    return len(final["bookings"]) == 4\n'


def generated(source: str) -> Verifier:
    goal = Check(name="there are four", op="generated", path=[], source=source)
    return Verifier(goals=[goal], guards=[], frame=[["members"], ["classes"], ["bookings"]])


CASES = {
    "an amount that hangs on hashes": Case(
        pose(built=COINS, verifier=loose(Check(name="paid", op="absent", path=["members", "M9"]))),
        "end_differs",
    ),
    "a note in the order of a set": Case(pose(built=NOTE), "end_differs"),
    "a reply in the order of a set": Case(pose(built=ORDER), "reply_differs"),
    "as it is": Case(pose()),
    "a check that says the same": Case(pose(verifier=generated(STEADY))),
    "paid in part": Case(pose(verifier=derived(partial=True))),
    "an answer": Case(answer()),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s11.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s11(name: str) -> None:
    check(find_all()[name], CASES[name])
