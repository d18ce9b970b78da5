"""S8: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s8
from envmill.gates.base import Finding
from schemas.scenario import UserContract
from tests.gates.cases import BOOK, FIND, LIST, QUESTION, TOP_UP, Case, answer, ask, check, judge_cases
from tests.gates.specimens import pose

USUAL = "Please put the usual amount on Ada Kern's account and book her one seat in the Tuesday wheel class."
SPELLED = "Please put € 25.00 on ADA KERN's account; after that, 1 seat for her in the wheel class on Tuesday."
SUM = "Please put 20 and another 5 on Ada Kern's account and book her one seat in the Tuesday wheel class."
KNOWN = UserContract(opening=USUAL, facts={"usual amount": 25})

CASES = {
    "ids out of nowhere": Case(pose(oracle=[TOP_UP, BOOK]), "unseen_id"),
    "one lookup is missing": Case(pose(oracle=[FIND, TOP_UP, BOOK]), "unseen_id"),
    "looked up too late": Case(pose(oracle=[FIND, TOP_UP, BOOK, LIST]), "unseen_id"),
    "an amount nobody says": Case(ask(USUAL), "underivable_argument"),
    "a name nobody says": Case(answer(oracle=[FIND]), "underivable_argument"),
    "no reference path": Case(pose(oracle=[]), outcome="not_measured"),
    "as it is": Case(pose()),
    "spelled otherwise": Case(ask(SPELLED)),
    "said when asked": Case(pose(request=USUAL, user=KNOWN)),
    "worked out": Case(ask(SUM)),
    "a question": Case(ask(QUESTION, oracle=answer().scenario.oracle)),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s8.look, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s8(name: str) -> None:
    check(find_all()[name], CASES[name])
