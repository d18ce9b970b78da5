"""Real authors' items, multiplied: what was caught is caught, no honest change is refused, and the
page says so."""

from typing import get_args

import pytest

from envmill.sandbox import Sandbox
from schemas.run import RecipeName
from tests.kinds.conftest import terminals
from tests.recipes.multiplied.multiplying import (
    MORE,
    MOST,
    Court,
    list_cases,
    list_subjects,
    read_results,
)
from tests.recipes.multiplied.page import CAUGHT, PAGE, list_faults, list_refused, write_page
from tests.soak import count

__all__ = ["terminals"]

RECIPES: tuple[RecipeName, ...] = get_args(RecipeName)
MACHINES: RecipeName = "endless_terminals"
LEAST = 200
SAMPLED: tuple[RecipeName, ...] = ("autoforge", "perturb", "tau2")
"""Under `make test`: their items are read as they are, those of the others are replayed first."""
FEW = 6


def test_every_recipe_has_its_cases() -> None:
    assert {
        recipe: len(results) >= LEAST for recipe, results in read_results().items()
    } == dict.fromkeys(RECIPES, True)


def test_dialogues_are_multiplied_further() -> None:
    """Of what real authors wrote of two sides, more is asked."""
    results = read_results()["tau2"]
    assert len(results) >= 300
    assert len({one.item for one in results}) >= 6
    faults = list_faults(results)
    assert sum(bool(one.said) for one in faults) >= 0.95 * len(faults)


@pytest.mark.parametrize("recipe", RECIPES)
def test_faults_are_caught_and_honest_changes_are_kept(recipe: str) -> None:
    results = read_results()[recipe]
    faults = list_faults(results)
    assert sum(bool(one.said) for one in faults) >= CAUGHT * len(faults)
    assert len([one for one in results if one.honest]) >= LEAST // 10
    assert list_refused(results) == []


def test_the_page_says_so() -> None:
    assert PAGE.read_text(encoding="utf-8") == write_page(read_results()), (
        "run python -m tests.recipes.multiplied page"
    )


@pytest.mark.long
@pytest.mark.soak(area="recipes")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "recipe", [name for name in RECIPES if name != MACHINES] if count(0, 1) else SAMPLED
)
async def test_what_was_caught_is_caught_and_nothing_honest_is_refused(
    recipe: RecipeName, jail: Sandbox
) -> None:
    await check_recipe(recipe, jail, count(FEW, MORE.get(recipe, MOST)))


@pytest.mark.soak(area="recipes")
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.skipif(not count(0, 1), reason="each builds a machine or two: make soak AREA=recipes")
async def test_the_same_of_errands_on_machines(terminals: Sandbox) -> None:
    await check_recipe(MACHINES, terminals, MOST)


async def check_recipe(recipe: RecipeName, sandbox: Sandbox, most: int) -> None:
    """Some of the cases, as evenly as may be."""
    cases = list_cases(await list_subjects(recipe, sandbox), MORE.get(recipe, MOST))
    known = read_results()[recipe]
    assert [case.label for case in cases] == [
        f"{one.item} {one.part}/{one.operator}" for one in known
    ]
    places = range(0, len(cases), max(1, len(cases) // most))
    found = await Court(sandbox).judge_all([cases[place] for place in places])
    lost = [
        (place, one)
        for place, one in zip(places, found, strict=True)
        if known[place].said and not one.said and not one.honest
    ]
    assert lost == []
    assert list_refused(found) == []
