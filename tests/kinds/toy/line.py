"""A run over the toy kind: `python -m tests.kinds.toy.line FOLDER` walks all steps and writes what
came of each, as JSON."""

import asyncio
import json
import sys
from pathlib import Path
from typing import cast

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.pipeline.line import STEPS
from envmill.pipeline.open_run import open_walk
from envmill.recipes import RECIPES, Make
from envmill.recipes.base import WHOLE, Recipe, Themes
from schemas.choice import NO_PAST, Past
from schemas.environment import Blueprint
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed

NAME: RecipeName = "perturb"
"""The name of a recipe that the toy stands in for."""
CONFIG = RunConfig(
    recipe=NAME,
    environments=2,
    scenarios=2,
    attempts=2,
    search=40,
    seed=11,
    mistakes=0.0,
    probe="reference",
    exporters=("sft", "rl", "dataset"),
)
PLACES = {
    "museum": ("visitors", "postcards", "guides"),
    "depot": ("parcels", "pallets", "crates", "drivers"),
}


def make(_themes: Themes, _whole: int = WHOLE, _results: bool = True) -> Recipe:
    """A recipe that thinks of places where things are counted. No other hook of a recipe is called
    for this kind."""
    return Recipe(name=NAME, pick_seeds=_pick_places, think_up=_think_up)


def _pick_places(config: RunConfig, _past: Past = NO_PAST) -> list[Seed]:
    briefs = [Brief(theme=place, text=f"Counters of a {place}.", number=0) for place in PLACES][
        : config.environments
    ]
    return [Seed(recipe=NAME, brief=brief, licence="Apache-2.0") for brief in briefs]


async def _think_up(seed: Seed, *_: object) -> Blueprint:
    place = seed.brief.theme
    counters = {name: {"value": 3 * index + len(name)} for index, name in enumerate(PLACES[place])}
    nobody = {"provider": "offline", "model": "", "prompt": "", "prompt_hash": ""}
    empty = {"collections": {}, "rules": [], "tools": [], "policy_document": ""}
    return Blueprint.model_validate(
        {
            **empty,
            "kind": "counters",
            "brief": seed.brief,
            "name": f"Counters of a {place}",
            "summary": f"What is counted in a {place}.",
            "files": {"counters.json": json.dumps({"counters": counters})},
            "licence": seed.licence,
            "origin": {"recipe": NAME, "seed": seed.id, **nobody},
        }
    )


def answer_nothing(prompt: str, *_: object) -> str:
    """An author that is never asked."""
    raise SettingsError(f"Nobody answers {prompt!r}: counters ask no model.")


async def walk(folder: Path) -> None:
    names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
    settings = Settings.read(
        {key: str(folder / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
    )
    cast("dict[RecipeName, Make]", RECIPES)[NAME] = make
    async with open_walk("toy", CONFIG, settings, answer_nothing) as run:
        await run.walk(STEPS)
    views = open_views(Lake(settings.lake))
    steps = views.execute(
        "select lap || '-' || stage, entered, kept, dropped, error, made from funnel"
    ).fetchall()
    gates = views.execute(
        "select gate, outcome, reason, detail, count(*) from attrition where run = 'toy' group by "
        "all order by all"
    ).fetchall()
    kinds = views.execute("select distinct kind from environments").fetchall()
    written = sorted(
        str(path.relative_to(settings.bundles))
        for path in settings.bundles.rglob("*")
        if path.is_file()
    )
    sys.stdout.write(
        json.dumps({"steps": steps, "gates": gates, "kinds": kinds, "written": written})
    )


if __name__ == "__main__":
    asyncio.run(walk(Path(sys.argv[1])))
