"""S2: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s2
from envmill.gates.base import Finding
from schemas.scenario import Check, Fact
from tests.gates.cases import ANY_BOOKING, SIXTY, Case, answer, check, derived, judge_cases, loose
from tests.gates.specimens import pose

ACTIVE = Check(name="Ada is active", op="equals", path=["members", "M1", "status"], value="active")
NEVER = Check(name="Ada is gone", op="absent", path=["members", "M1"])
BARE = Fact(name="the balance", kind="number", value=60)
REFUSAL = Fact(name="no", kind="text", value="not allowed")

CASES = {
    "true at the start": Case(pose(verifier=loose(ACTIVE)), "do_nothing_paid"),
    "half of it true at the start": Case(
        pose(verifier=loose(ACTIVE, NEVER, partial=True)), "do_nothing_paid"
    ),
    "any booking will do": Case(pose(verifier=loose(ANY_BOOKING)), "attack_passes"),
    "any booking pays half": Case(
        pose(verifier=loose(ANY_BOOKING, NEVER, partial=True)), "attack_paid"
    ),
    "an answer among a hundred words": Case(answer(BARE, say="60"), "attack_passes"),
    "a refusal that asks for no proof": Case(
        answer(REFUSAL, polarity="refuse", procedure=[], say="That is not allowed."),
        "attack_passes",
    ),
    "as it is": Case(pose()),
    "paid in part, within a frame": Case(pose(verifier=derived(partial=True))),
    "an answer with rivals": Case(answer(SIXTY)),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s2.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s2(name: str) -> None:
    check(find_all()[name], CASES[name])
