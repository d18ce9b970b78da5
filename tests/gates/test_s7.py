"""S7: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s7
from envmill.gates.base import Finding, ScenarioCase
from schemas.scenario import Check, Verifier
from tests.gates.cases import Case, check, judge_cases
from tests.gates.specimens import pose

RIGHT = """
def check(initial, final):
    new = [row for key, row in final.get("bookings", {}).items() if key not in initial.get("bookings", {})]
    return len(new) == 1 and new[0].get("member_id") == "M1"
"""
RAISES = RIGHT.replace("len(new) == 1 and", "")
NUMBER = RIGHT.replace("return len(new) == 1 and", "return len(new) and")
MUTATES = RIGHT.replace("    return", "    final.clear()\n    return")
UNDEFINED = RIGHT.replace("in initial", "in initial_state")
PRUDENT = RIGHT.replace("len(new) == 1 and", "bool(new) and")
NONE = (
    'def check(initial, final):\n    if len(final.get("bookings", {})) == 3:\n        return '
    "False\n"
)


def generated(source: str) -> ScenarioCase:
    goal = Check(name="Ada has a booking", op="generated", path=[], source=source)
    return pose(
        verifier=Verifier(goals=[goal], guards=[], frame=[["members"], ["classes"], ["bookings"]])
    )


CASES = {
    "raises where nothing was booked": Case(generated(RAISES), "check_says_nothing"),
    "answers a number": Case(generated(NUMBER), "check_says_nothing"),
    "changes what it is shown": Case(generated(MUTATES), "check_says_nothing"),
    "reads a name nobody defined": Case(generated(UNDEFINED), "check_says_nothing"),
    "forgets to say yes": Case(generated(NONE), "check_says_nothing"),
    "as it should be": Case(generated(RIGHT)),
    "asks before it takes": Case(generated(PRUDENT)),
    "says no to everything": Case(generated("def check(initial, final):\n    return False\n")),
    "declarative checks": Case(pose(), outcome="not_applicable"),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s7.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s7(name: str) -> None:
    check(find_all()[name], CASES[name])
