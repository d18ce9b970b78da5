"""S4: what it must drop, and the near misses it must keep."""

from dataclasses import replace
from functools import cache

import pytest

from envmill.gates import s4
from envmill.gates.base import Finding, GateContext
from envmill.gates.mutating.near_misses import WRITES, breed
from envmill.sandbox import Sandbox
from schemas.environment import Call
from schemas.scenario import Check, Fact
from tests.gates.cases import ANY_BOOKING, Case, answer, check, derived, judge_cases, loose
from tests.gates.specimens import pose

SEAT = Check(name="one seat less", op="equals", path=["classes", "C1", "free"], value=3)
WIDE = [["members"], ["classes"], ["bookings"]]
VAGUE = Fact(name="a sum", kind="pattern", value="[0-9]+")

CASES = {
    "any booking of anybody": Case(pose(verifier=loose(ANY_BOOKING)), "mutants_survive"),
    "a seat less, whoever has it": Case(pose(verifier=loose(SEAT)), "mutants_survive"),
    "the account is not looked at": Case(
        pose(
            verifier=derived(
                goals=[goal for goal in derived().goals if goal.path[0] != "members"], frame=WIDE
            )
        ),
        "mutants_survive",
    ),
    "any number is an answer": Case(answer(VAGUE, procedure=[]), "mutants_survive"),
    "no reference path": Case(pose(oracle=[]), outcome="not_measured"),
    "as it is": Case(pose()),
    "paid in part": Case(pose(verifier=derived(partial=True))),
    "an answer": Case(answer()),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s4.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s4(name: str) -> None:
    check(find_all()[name], CASES[name])


async def test_rows_in_another_order_are_judged_by_the_same_mutants(jail: Sandbox) -> None:
    """Ids do not see an order, so that both scenarios share what was played."""
    posed = pose()
    state = {
        name: dict(reversed(list(rows.items())))
        for name, rows in posed.scenario.initial_state.items()
    }
    other = replace(posed, scenario=posed.scenario.model_copy(update={"initial_state": state}))
    means = GateContext(jail, seed=3)
    first, second = [await s4.list_mutants(each, means) for each in (posed, other)]
    assert [mutant.attempt for mutant in first] == [mutant.attempt for mutant in second]


def test_many_writes_are_sampled_evenly_and_few_are_all_mutated() -> None:
    def list_places(writes: int, seed: int = 0) -> set[int]:
        oracle = [
            Call(
                name="book_seats",
                arguments={"member_id": f"M{number}", "class_id": "C1", "seats": 1},
            )
            for number in range(writes)
        ]
        path = breed(pose(oracle=oracle), seed)
        return {attempt.place - 1 for attempt in path if attempt.label == "twice_the_same"}

    assert list_places(WRITES) == set(range(WRITES))
    sampled = list_places(100)
    assert len(sampled) == WRITES
    assert all(any(place in sampled for place in range(first, first + 4)) for first in range(0, 96))
    assert any(list_places(100, seed) != sampled for seed in range(1, 5))
