"""Small runs end as their stored summaries say: a change that moves code must not move results."""

import json
from pathlib import Path

import pytest

from envmill.recipes import RECIPES
from tests.house.golden import FOLDER, GOLDEN, list_differences, read_summary, summarise_run
from tests.soak import count

_QUICK = ("envscaler",)
"""The others take a minute of a core, or need boxes."""
_MEND = "If that is intended, write it anew: python -m tests.house.golden"


def test_every_recipe_has_a_summary() -> None:
    assert set(GOLDEN) == set(RECIPES) == {path.stem for path in FOLDER.glob("*.json")}


@pytest.mark.soak(area="house")
@pytest.mark.parametrize("recipe", GOLDEN)
async def test_a_run_ends_as_it_did(recipe: str, tmp_path: Path) -> None:
    if not count(recipe in _QUICK, True):
        pytest.skip("make soak AREA=house")
    found = json.loads(json.dumps(await summarise_run(recipe, tmp_path)))
    differences = list_differences(read_summary(recipe), found)
    assert not differences, "\n".join(
        [*differences[:20], f"{len(differences)} differences. {_MEND} {recipe}"]
    )


@pytest.mark.parametrize("recipe", GOLDEN)
def test_every_run_reaches_the_end(recipe: str) -> None:
    """A run that keeps nothing would compare nothing."""
    stored = read_summary(recipe)
    assert stored["ids"]["trajectories"]
    assert stored["ends"]
    assert stored["exported"]


def test_a_difference_is_found_wherever_it_is() -> None:
    stored = {"ids": {"seeds": ["a"]}, "verdicts": {"probe pass": 2}}
    assert list_differences(stored, {"ids": {"seeds": ["a"]}, "verdicts": {"probe pass": 2}}) == []
    assert list_differences(stored, {"ids": {"seeds": ["b"]}, "verdicts": {"probe pass": 2}}) == [
        '/ids/seeds: ["a"] is now ["b"]'
    ]
    assert list_differences(
        stored, {"ids": {"seeds": ["a"]}, "verdicts": {"probe pass": 1, "probe fail": 1}}
    ) == [
        "/verdicts/probe fail: null is now 1",
        "/verdicts/probe pass: 2 is now 1",
    ]
