"""The judge: goals, guards, frame; and a verifier derived from two runs of an oracle."""

import copy
from typing import Any

import pytest

from envmill.verifiers.derive import derive_verifier
from envmill.verifiers.diff import diff_states, same
from envmill.verifiers.judge import judge

START: dict[str, Any] = {
    "items": {"i1": {"name": "drill", "free": True}, "i2": {"name": "saw", "free": True}},
    "loans": {},
    "log": [],
}


def play(loan_id: str, when: str) -> dict[str, Any]:
    end = copy.deepcopy(START)
    end["items"]["i1"]["free"] = False
    end["loans"][loan_id] = {"id": loan_id, "item": "i1", "member": "m1", "at": when}
    return end


GOLD = play("loan_a", "09:00")
VERIFIER = derive_verifier(START, diff_states(START, GOLD), diff_states(START, play("loan_b", "09:07")))


def with_change(state: dict[str, Any], *path: str, to: Any) -> dict[str, Any]:
    changed = copy.deepcopy(state)
    here = changed
    for key in path[:-1]:
        here = here[key]
    if to is None:
        del here[path[-1]]
    else:
        here[path[-1]] = to
    return changed


def test_the_oracle_passes_and_doing_nothing_earns_exactly_nothing() -> None:
    assert judge(VERIFIER, START, GOLD).outcome == "pass"
    assert judge(VERIFIER, START, START).reward == 0.0


def test_chance_is_not_asked_for() -> None:
    assert judge(VERIFIER, START, play("loan_z", "23:59")).outcome == "pass"


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("a goal missed", with_change(GOLD, "items", "i1", "free", to=True)),
        ("collateral change", with_change(GOLD, "items", "i2", "free", to=False)),
        ("wrong value in the new row", with_change(GOLD, "loans", "loan_a", "member", to="m2")),
        ("a second new row", with_change(GOLD, "loans", "loan_x", to={"id": "loan_x", "item": "i1", "member": "m1", "at": "x"})),
        ("a row removed", with_change(GOLD, "items", "i2", to=None)),
        ("an undeclared list changed", with_change(GOLD, "log", to=["x"])),
        ("a collection gone", with_change(GOLD, "loans", to=None)),
        ("true is not one", with_change(GOLD, "items", "i1", "free", to=0)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_end_earns_nothing(name: str, end: dict[str, Any]) -> None:
    verdict = judge(VERIFIER, START, end)
    assert (verdict.outcome, verdict.reward) == ("fail", 0.0), name
    assert verdict.reason


def test_partial_reward_pays_goals_but_never_through_a_broken_frame() -> None:
    partial = VERIFIER.model_copy(update={"partial": True})
    half = with_change(GOLD, "items", "i1", "free", to=True)
    assert 0 < (judge(partial, START, half).reward or 0) < 1
    assert judge(partial, START, with_change(half, "items", "i2", "free", to=False)).reward == 0.0


def test_a_row_that_changes_only_by_chance_is_no_goal() -> None:
    touched = with_change(START, "items", "i1", "seen", to="09:00")
    again = with_change(START, "items", "i1", "seen", to="09:07")
    assert derive_verifier(START, diff_states(START, touched), diff_states(START, again)).goals == []


@pytest.mark.parametrize(
    ("left", "right", "equal"), [(1, 1.0, True), (True, 1, False), ("1", 1, False), ([1], [1.0], True), ({}, [], False)]
)
def test_json_equality(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
