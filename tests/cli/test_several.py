"""Several recipes in one order."""

from typing import Any

import pytest

from envmill.base.errors import SettingsError
from flows.cli.several import compare, read_recipes, run_recipes
from flows.local.home import Home


def test_steps_stand_side_by_side_and_a_step_that_one_run_lacks_is_empty() -> None:
    steps = [
        ("r1", "environments-mine", 4, 4),
        ("r1", "environments-build", 3, 4),
        ("r2", "environments-build", 2, 2),
    ]
    columns, rows = compare(["awm", "perturb"], ["r1", "r2"], steps)
    assert columns == ["step", "awm", "perturb"]
    assert rows == [["environments-mine", "4/4", ""], ["environments-build", "3/4", "2/2"]]


@pytest.mark.parametrize("named", [",", "awm,awm", " awm , awm"])
def test_a_recipe_is_named_once(named: str) -> None:
    with pytest.raises(SettingsError, match="Name each once"):
        read_recipes(named)


@pytest.mark.parametrize(
    ("given", "asked", "told"),
    [
        ({"recipe": "awm,unheard-of"}, {}, "Unknown recipe 'unheard-of'"),
        (
            {"recipe": "awm,scaleenv"},
            {"preview": 2, "record": "calls.jsonl"},
            "Leave out -n, --record, or name one recipe",
        ),
        ({"recipe": "awm,scaleenv", "environments": 0}, {}, "--environments is 0"),
    ],
)
def test_what_cannot_be_ordered_is_told_before_anything_runs(
    home: Home, given: dict[str, Any], asked: dict[str, Any], told: str
) -> None:
    with pytest.raises(SettingsError, match=told):
        run_recipes(home, given, asked, wait=True, remote=False)
