"""Recipes over tables at scale: a table of them, each walked through the whole line, its losses
told and its chains re-checked."""

import sys
from pathlib import Path

import pytest

from envmill.lake.lake import Lake
from envmill.sandbox import Sandbox
from flows.opening import open_walk
from schemas.environment import Environment
from schemas.run import RecipeName, RunConfig
from tests.pipeline.test_runner import settings_in
from tests.recipes.walks import SEED, WALKS, check_chains, check_walk, tell, walk_recipe
from tests.soak import count

pytestmark = pytest.mark.skipif(
    not count(0, 1), reason="under `make test` each recipe's own file walks it"
)
TOOLS, TABLES = 60, 20
LARGE: tuple[tuple[RecipeName, str, int], ...] = (
    ("awm", "", TABLES),
    ("scaleenv", "", TABLES),
    ("envfactory", "", TABLES),
    ("agentscaler", "botocore:iot,botocore:connect,botocore:lightsail", TABLES + 4),
)
"""Recipe, documents, and the tables that are asked for: what no written tool touches falls away."""


@pytest.mark.soak(area="recipes")
@pytest.mark.parametrize("recipe", WALKS)
async def test_environments_and_scenarios_come_of_it(
    recipe: RecipeName, tmp_path: Path, jail: Sandbox
) -> None:
    runs = await walk_recipe(recipe, tmp_path)
    sys.stdout.write(f"{tell(recipe, runs)}\n")
    check_walk(runs)
    if WALKS[recipe].chains:
        await check_chains(runs, jail)


@pytest.mark.soak(area="recipes")
@pytest.mark.parametrize(("recipe", "documents", "tables"), LARGE)
async def test_environments_are_as_large_as_asked_for(
    recipe: RecipeName, documents: str, tables: int, tmp_path: Path
) -> None:
    config = RunConfig(
        recipe=recipe,
        documents=documents,
        environments=2,
        tools=TOOLS,
        collections=tables,
        scenarios=1,
        seed=SEED,
        mistakes=0.0,
    )
    settings = settings_in(tmp_path)
    async with open_walk("r1", config, settings) as walk:
        await walk.walk()
    made = list(Lake(settings.lake).read(Environment, "r1"))
    sizes = [(len(one.tools), len(one.tables)) for one in made]
    sys.stdout.write(f"{recipe}: {sizes} tools and tables\n")
    assert any(tools >= TOOLS and held >= TABLES for tools, held in sizes), sizes
