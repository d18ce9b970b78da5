"""S5: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s5
from envmill.gates.base import Finding
from tests.gates.cases import Case, answer, check, derived, judge_cases
from tests.gates.specimens import pose
from tests.gates.specimens.studio import STATE

FRAME = derived().frame
LINES = {**STATE, "notes": "Kiln on Friday."}
WHOLE = [["classes"], ["bookings"], *FRAME]

CASES = {
    "members may change at will": Case(
        pose(verifier=derived(frame=[["members"], *FRAME])), "collateral_unseen"
    ),
    "one row may change at will": Case(
        pose(verifier=derived(frame=[["members", "M1"], *FRAME])), "collateral_unseen"
    ),
    "classes and bookings may": Case(pose(verifier=derived(frame=WHOLE)), "collateral_unseen"),
    "everything may, in words": Case(pose(verifier=derived(frame=[[]])), "collateral_unseen"),
    "a world without a reference path": Case(
        pose(oracle=[], verifier=derived(frame=[["members"], *FRAME])), outcome="not_measured"
    ),
    "as it is": Case(pose()),
    "no reference path, and a frame": Case(pose(oracle=[])),
    "an answer, which changes nothing": Case(answer()),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s5.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s5(name: str) -> None:
    check(find_all()[name], CASES[name])
