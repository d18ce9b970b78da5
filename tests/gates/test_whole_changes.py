"""Tests that name the whole change: what changes and is not named is red, and so is a named change
that did not happen."""

import random
from collections.abc import Mapping
from typing import Any

import pytest

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.expectations import find_unmet
from envmill.gates.w3 import judge_test, play_tests
from envmill.sandbox import Sandbox
from schemas.base import Json
from schemas.environment import Test
from tests.gates.specimens import ground, make_test
from tests.gates.test_w3 import alter
from tests.offline.questions import THEMES
from tests.soak import count
from tests.trust.tabled import Planted, make

Rows = dict[str, Any]
OLD: Rows = {
    "tools": {"T1": {"status": "free", "on": ""}, "T2": {"status": "free", "on": ""}},
    "loans": {"L0": {"tool": "T2"}},
}
LENT: Rows = {
    "tools": {"T1": {"status": "out", "on": "2026-03-02"}, "T2": {"status": "free", "on": ""}},
    "loans": {"L0": {"tool": "T2"}, "L1": {"tool": "T1"}},
}
WHOLE: Rows = {"tools": {"T1": {"status": "out", "on": "*"}}, "loans": {"*": {"tool": "T1"}}}


def change(state: Rows, table: str, key: str, row: Json) -> Rows:
    """The state with another row; without it where there is none."""
    rows = {
        name: one for name, one in {**state.get(table, {}), key: row}.items() if one is not None
    }
    return {**state, table: rows}


def judge(after: Rows, state: Rows, *, exact: bool = True) -> list[str]:
    test = make_test(ground().environment, "list_classes", {}, "success")
    return find_unmet(alter(test, initial_state=OLD, after=after, exact=exact), None, state)


@pytest.mark.parametrize(
    ("after", "state", "said"),
    [
        (WHOLE, LENT, ""),
        ({}, OLD, ""),
        ({"tools": {"T1": {"status": "free"}}}, OLD, ""),
        (
            change(WHOLE, "loans", "*", [{"tool": "T1"}, {"tool": "T2"}]),
            change(LENT, "loans", "L2", {"tool": "T2"}),
            "",
        ),
        (change(WHOLE, "loans", "*", {}), LENT, ""),
        ({"loans": {"L0": None}}, {**OLD, "loans": {}}, ""),
        ({}, LENT, "after/tools/T1/status: expected no change"),
        (
            change(WHOLE, "tools", "T1", {"status": "out"}),
            LENT,
            "after/tools/T1/on: expected no change",
        ),
        ({**WHOLE, "loans": {"*": None}}, LENT, "after/loans/*: expected no such row"),
        (
            WHOLE,
            change(LENT, "tools", "T2", {"status": "out", "on": ""}),
            "after/tools/T2/status: expected no change",
        ),
        (
            WHOLE,
            change(LENT, "tools", "T1", {"status": "out", "on": ""}),
            "after/tools/T1/on: expected another value",
        ),
        (
            WHOLE,
            change(LENT, "loans", "L2", {"tool": "T1"}),
            "after/loans: expected 1 new rows, saw 2",
        ),
        (WHOLE, {**LENT, "loans": OLD["loans"]}, "after/loans/*: expected a row"),
        (WHOLE, change(LENT, "loans", "L0", None), "after/loans/L0: the row is gone"),
        (
            change(WHOLE, "loans", "*", [{"tool": "T1"}] * 2),
            change(LENT, "loans", "L2", {"tool": "T2"}),
            "no new row is expected to be",
        ),
        (
            WHOLE,
            {**LENT, "fines": {"F1": {"tool": "T1"}}},
            "after/fines: expected 0 new rows, saw 1",
        ),
    ],
)
def test_what_is_not_named_stays_as_it_was(after: Rows, state: Rows, said: str) -> None:
    unmet = judge(after, state)
    assert any(said in one for one in unmet) if said else not unmet, unmet


def test_a_part_of_the_change_is_enough_where_a_test_is_not_exact() -> None:
    assert judge({"tools": {"T1": {"status": "out"}}}, LENT, exact=False) == []
    assert judge({}, LENT, exact=False) == []
    assert judge({"tools": {"T1": {"status": "lost"}}}, LENT, exact=False)


def test_exactness_is_part_of_what_a_test_is() -> None:
    test = make_test(ground().environment, "list_classes", {}, "success")
    assert alter(test, exact=True).id != test.id == alter(test, exact=False).id


def skip(test: Test, dice: random.Random) -> Test:
    """As an author writes it who leaves out a part of the change."""
    after = {table: dict(rows) for table, rows in test.after.items()}
    table = dice.choice(sorted(after))
    key = dice.choice(sorted(after[table]))
    row = after[table][key]
    if isinstance(row, Mapping) and len(row) > 1 and key != "*" and dice.random() < 0.5:
        lost = dice.choice(sorted(row))
        after[table][key] = {name: value for name, value in row.items() if name != lost}
    else:
        del after[table][key]
    return alter(test, after=after)


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.soak(area="mechanisms")
async def test_authors_who_tell_half_a_change_are_caught_and_honest_ones_kept(
    sandbox: Sandbox,
) -> None:
    """Skips are caught in at least 57 of 60 cases; no honest test is refused."""
    dice, skips, caught, refused, honest = random.Random(5), count(12, 60), 0, list[str](), 0
    themes = sorted(THEMES)[: count(2, 41)]
    played = list[tuple[Test, Any]]()
    for theme in themes:
        built = await make("scaleenv", theme, 0, Planted(), sandbox)
        assert isinstance(built, EnvironmentCase), built
        told = [test for test in built.tests if test.after]
        assert all(test.exact for test in told)
        played += await play_tests(built.environment, told, sandbox)
    for test, seen in played:
        honest += 1
        refused += [fault] if (fault := judge_test(test, seen)) else []
    for test, seen in dice.sample(played, skips):
        caught += bool(judge_test(skip(test, dice), seen))
    assert refused == []
    assert honest >= skips
    assert caught >= 57 * skips // 60
