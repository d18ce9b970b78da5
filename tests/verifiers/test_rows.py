"""Matching new rows with goals: the same as trying every assignment, and in few steps where rows
are missing."""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from envmill.verifiers import rows
from envmill.verifiers.checks import find_value
from envmill.verifiers.pattern import fits, list_named_rows, names_row
from envmill.verifiers.rows import match_rows
from schemas.scenario import Change, Check

TEXT = {"$any": "string"}


def ask_row(table: str, **values: Any) -> Check:
    return Check(name=table, op="present", path=[table], value=values)


def refer(path: list[str], number: int) -> Check:
    return Check(name="refers", op="equals", path=path, value={"$row": number})


def add(table: str, key: str, **values: Any) -> Change:
    return Change(op="add", path=[table, key], after=values)


def try_all(goals: Sequence[Check], added: Sequence[Change], final: Any) -> Mapping[int, str]:
    """The first of the best among all assignments, by the definition."""
    wanted = [number for number, goal in enumerate(goals) if goal.op == "present"]
    linked = [goal for goal in goals if goal.op == "equals" and names_row(goal.value)]

    def list_assignments(place: int, taken: dict[int, Change]) -> Iterator[dict[int, Change]]:
        if place == len(wanted):
            yield taken
            return
        for change in added:
            if change.path[:-1] == goals[wanted[place]].path and change not in taken.values():
                yield from list_assignments(place + 1, {**taken, wanted[place]: change})
        yield from list_assignments(place + 1, taken)

    best, score = dict[int, str](), (-1, -1)
    for taken in list_assignments(0, {}):
        keys = {number: change.path[-1] for number, change in taken.items()}
        if all(fits(change.after, goals[number].value, keys) for number, change in taken.items()):
            reached = (
                len(keys),
                sum(fits(find_value(final, goal.path), goal.value, keys) for goal in linked),
            )
            if reached > score:
                best, score = keys, reached
    return best


def draw(seed: int) -> tuple[list[Check], list[Change], dict[str, Any]]:
    """Two collections, of which one refers to the other, with rows alike, missing, surplus and
    mixed up; and places that name rows."""
    dice = random.Random(seed)
    goals: list[Check] = []
    for _ in range(dice.randint(1, 5)):
        parents = [place for place, goal in enumerate(goals) if goal.path == ["orders"]]
        if parents and dice.random() < 0.6:
            goals.append(
                ask_row(
                    "lines", order={"$row": dice.choice(parents)}, item=dice.choice(["nut", TEXT])
                )
            )
        else:
            goals.append(
                ask_row(
                    "orders",
                    name=dice.choice(["Ada", "Ben", TEXT]),
                    note=dice.choice(["", {"$exempt": True}]),
                )
            )
    added: list[Change] = []
    for number in range(dice.randint(0, 5)):
        key = f"k{number}"
        if dice.random() < 0.5:
            added.append(
                add(
                    "orders",
                    key,
                    name=dice.choice(["Ada", "Ben", "Cy"]),
                    note=dice.choice(["", "x"]),
                )
            )
        else:
            added.append(
                add(
                    "lines",
                    key,
                    order=dice.choice(["k0", "k1", "k2", "k9"]),
                    item=dice.choice(["nut", "bolt"]),
                )
            )
    final = {
        "seats": {
            f"s{number}": {"holder": dice.choice(["k0", "k1", "k2", "k3", None, 7])}
            for number in range(3)
        }
    }
    goals += [
        refer(["seats", f"s{number}", "holder"], dice.randrange(len(goals)))
        for number in range(dice.randint(0, 3))
    ]
    dice.shuffle(added)
    return goals, added, final


@pytest.mark.parametrize("start", range(0, 600, 150))
def test_the_matching_is_the_first_of_the_best_of_all_assignments(start: int) -> None:
    partial = 0
    for seed in range(start, start + 150):
        goals, added, final = draw(seed)
        expected = try_all(goals, added, final)
        assert match_rows(goals, added, final) == expected, seed
        partial += 0 < len(expected) < sum(goal.op == "present" for goal in goals)
    assert partial > 30


@pytest.mark.parametrize("size", [12, 48])
@pytest.mark.parametrize("alike", [False, True])
def test_a_missing_row_costs_few_steps(
    size: int, alike: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "_TRIES", 4 * size)
    names = ["Ada" if alike else f"name {number}" for number in range(size)]
    goals = [ask_row("orders", name=name) for name in names]
    added = [add("orders", f"k{number}", name=name) for number, name in enumerate(names)]
    for left_out in (0, size // 2, size - 1):
        assert len(match_rows(goals, [*added[:left_out], *added[left_out + 1 :]])) == size - 1
    goals += [refer(["seats", str(number)], number) for number in range(size)]
    final = {"seats": {str(number): f"k{number}" for number in range(size)}}
    assert match_rows(goals, added, final) == {number: f"k{number}" for number in range(size)}
    assert len(match_rows(goals, added, {"seats": {**final["seats"], "0": None}})) == size


def test_a_broad_goal_leaves_a_row_to_the_narrow_one() -> None:
    goals = [ask_row("orders", name=TEXT), ask_row("orders", name="Ada")]
    assert match_rows(
        goals, [add("orders", "k1", name="Ada"), add("orders", "k2", name="Ben")]
    ) == {0: "k2", 1: "k1"}


def test_names_of_rows_are_found_at_any_depth() -> None:
    pattern = {
        "a": [{"$row": 3}],
        "b": {"c": {"$row": 1}, "d": {"$any": "string"}},
        "e": {"$row": "x"},
    }
    assert list(list_named_rows(pattern)) == [3, 1]
