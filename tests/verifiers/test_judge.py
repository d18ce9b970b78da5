"""The judge: goals, guards, frame; and a verifier derived from two runs of an oracle."""

import copy
from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.verifiers.derive import asks_for_something, derive_verifier
from envmill.verifiers.diff import diff_states, same
from envmill.verifiers.ending import Ending
from envmill.verifiers.judge import judge
from schemas.scenario import Verifier

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
VERIFIER = derive_verifier(
    START, diff_states(START, GOLD), diff_states(START, play("loan_b", "09:07"))
)


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
    assert judge(VERIFIER, Ending(START, GOLD)).outcome == "pass"
    assert judge(VERIFIER, Ending(START, START)).reward == 0.0


def test_what_only_a_model_could_judge_is_an_error_where_all_else_holds_and_never_a_pass() -> None:
    asked = VERIFIER.model_copy(update={"unjudged": ["The agent is kind"]})
    right, wrong = judge(asked, Ending(START, GOLD)), judge(asked, Ending(START, START))
    assert (right.outcome, right.reward) == ("error", None)
    assert right.reason == "not judged: The agent is kind"
    assert right.components["goals"] == 1.0
    assert (wrong.outcome, wrong.reward) == ("fail", 0.0)


def test_chance_is_not_asked_for() -> None:
    assert judge(VERIFIER, Ending(START, play("loan_z", "23:59"))).outcome == "pass"


@pytest.mark.parametrize(
    ("name", "end"),
    [
        ("a goal missed", with_change(GOLD, "items", "i1", "free", to=True)),
        ("collateral change", with_change(GOLD, "items", "i2", "free", to=False)),
        ("wrong value in the new row", with_change(GOLD, "loans", "loan_a", "member", to="m2")),
        (
            "a second new row",
            with_change(
                GOLD,
                "loans",
                "loan_x",
                to={"id": "loan_x", "item": "i1", "member": "m1", "at": "x"},
            ),
        ),
        ("a row removed", with_change(GOLD, "items", "i2", to=None)),
        ("an undeclared list changed", with_change(GOLD, "log", to=["x"])),
        ("a collection gone", with_change(GOLD, "loans", to=None)),
        ("true is not one", with_change(GOLD, "items", "i1", "free", to=0)),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_wrong_end_earns_nothing(name: str, end: dict[str, Any]) -> None:
    verdict = judge(VERIFIER, Ending(START, end))
    assert (verdict.outcome, verdict.reward) == ("fail", 0.0), name
    assert verdict.reason


def test_partial_reward_pays_goals_but_never_through_a_broken_frame() -> None:
    partial = VERIFIER.model_copy(update={"partial": True})
    half = with_change(GOLD, "items", "i1", "free", to=True)
    assert 0 < (judge(partial, Ending(START, half)).reward or 0) < 1
    assert (
        judge(partial, Ending(START, with_change(half, "items", "i2", "free", to=False))).reward
        == 0.0
    )


def test_a_change_that_is_all_chance_asks_for_nothing() -> None:
    touched = with_change(START, "items", "i1", "seen", to="09:00")
    again = with_change(START, "items", "i1", "seen", to="09:07")
    verifier = derive_verifier(START, diff_states(START, touched), diff_states(START, again))
    assert not asks_for_something(verifier)
    assert judge(verifier, Ending(START, START)).reward == 0.0


def derived(first: Any, second: Any, start: Any = None) -> tuple[Verifier, Any]:
    start = START if start is None else start
    return derive_verifier(start, diff_states(start, first), diff_states(start, second)), start


def order(key: str, line: str, **changes: Any) -> dict[str, Any]:
    row = {
        "customer": "c1",
        "lines": [{"id": line, "sku": "A", "qty": 2}],
        "ship": {"to": "Berlin", "ref": line},
    } | changes
    return START | {"loans": {key: row}}


@pytest.mark.parametrize(
    "changes",
    [
        {"lines": [{"id": "l9", "sku": "ZZZ", "qty": 2}]},
        {"lines": [{"id": "l9", "sku": "A", "qty": 9000}]},
        {"lines": []},
        {"lines": [{"id": "l9", "sku": "A", "qty": 2}] * 2},
        {"lines": [{"id": 7, "sku": "A", "qty": 2}]},
        {"ship": {"to": "Paris", "ref": "x"}},
        {"ship": {"to": "Berlin"}},
        {"extra": 1},
    ],
)
def test_what_is_nested_beside_chance_is_still_asked_for(changes: dict[str, Any]) -> None:
    verifier, start = derived(order("o1", "l1"), order("o2", "l2"))
    assert judge(verifier, Ending(start, order("o7", "l7"))).outcome == "pass"
    assert judge(verifier, Ending(start, order("o7", "l7", **changes))).outcome == "fail"


def test_a_history_that_grows_by_a_timestamped_entry_is_asked_for() -> None:
    def play_history(when: str, member: str) -> dict[str, Any]:
        return START | {"log": [{"at": when, "member": member}]}

    verifier, start = derived(play_history("09:00", "m3"), play_history("09:07", "m3"))
    assert judge(verifier, Ending(start, play_history("11:11", "m3"))).outcome == "pass"
    assert judge(verifier, Ending(start, play_history("11:11", "m30"))).outcome == "fail"
    assert judge(verifier, Ending(start, START)).outcome == "fail"


def lend_twice(one: str, other: str) -> dict[str, Any]:
    row = {"item": "i1", "member": "m1"}
    return START | {"loans": {one: row, other: row}}


def test_two_goals_need_two_rows() -> None:
    verifier, start = derived(lend_twice("a", "b"), lend_twice("c", "d"))
    assert judge(verifier, Ending(start, lend_twice("x", "y"))).outcome == "pass"
    assert (
        judge(
            verifier, Ending(start, START | {"loans": {"x": {"item": "i1", "member": "m1"}}})
        ).outcome
        == "fail"
    )


def test_which_key_a_row_got_decides_nothing() -> None:
    plain, urgent = {"item": "i1"}, {"item": "i1", "note": "urgent"}
    verifier, start = derived(
        START | {"loans": {"a": plain, "b": urgent}}, START | {"loans": {"c": plain, "d": urgent}}
    )
    assert (
        judge(verifier, Ending(start, START | {"loans": {"x": urgent, "y": plain}})).outcome
        == "pass"
    )


def test_an_older_row_that_looks_the_same_is_no_excuse_and_no_guard() -> None:
    row = {"item": "i1", "member": "m1"}
    start = START | {"loans": {"old": row}}
    verifier, _ = derived(
        START | {"loans": {"old": row, "a": row}}, START | {"loans": {"old": row, "b": row}}, start
    )
    assert (
        judge(verifier, Ending(start, START | {"loans": {"old": row, "z": row}})).outcome == "pass"
    )
    assert judge(verifier, Ending(start, start)).reward == 0.0


def test_a_new_row_that_is_no_object_is_found_under_any_key() -> None:
    verifier, start = derived(START | {"loans": {"a": "T1"}}, START | {"loans": {"b": "T1"}})
    assert judge(verifier, Ending(start, START | {"loans": {"z": "T1"}})).outcome == "pass"
    assert judge(verifier, Ending(start, START | {"loans": {"z": "T2"}})).outcome == "fail"


def seat(booking: Any, key: str) -> dict[str, Any]:
    state = with_change(START, "items", "i1", "booking", to=booking)
    return state | {"loans": {key: {"id": key, "item": "i1"}}}


@pytest.mark.parametrize(("booking", "outcome"), [("z", "pass"), ("stranger", "fail"), (5, "fail")])
def test_a_generated_key_used_elsewhere_must_point_at_the_new_row(
    booking: Any, outcome: str
) -> None:
    verifier, start = derived(seat("a", "a"), seat("b", "b"))
    assert judge(verifier, Ending(start, seat(booking, "z"))).outcome == outcome


def test_runs_that_cannot_be_laid_beside_each_other_give_no_verifier() -> None:
    with pytest.raises(BuildError, match="depends on chance"):
        derived(lend_twice("a", "b"), START | {"loans": {"c": {"item": "i1"}}})


def test_a_state_that_contains_a_hole_gives_no_verifier() -> None:
    with pytest.raises(BuildError, match="reserve"):
        derived(
            START | {"loans": {"a": {"$any": "string"}}},
            START | {"loans": {"a": {"$any": "string"}}},
        )


@pytest.mark.parametrize(
    ("left", "right", "equal"),
    [(1, 1.0, True), (True, 1, False), ("1", 1, False), ([1], [1.0], True), ({}, [], False)],
)
def test_json_equality(left: Any, right: Any, equal: bool) -> None:
    assert same(left, right) is equal
