"""Nights move: what a run starts from is chosen when it is opened, from its seed and from what the
lake's earlier runs started from."""

import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.events import note
from envmill.lake.lake import Lake
from envmill.pipeline.choice import find_choice, read_lake, settle_choice
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from flows.opening import open_walk
from flows.rounds import make_round
from schemas.choice import Past, SeedChoice
from schemas.environment import Blueprint
from schemas.ledger import Attrition
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed
from tests.pipeline.test_runner import settings_in

PICKED: tuple[RecipeName, ...] = (
    "envscaler",
    "scaleenv",
    "envfactory",
    "perturb",
    "endless_terminals",
)
"""Recipes whose seeds are picked; the others mine or grow theirs."""
GROWN: tuple[RecipeName, ...] = ("awm", "agentscaler", "autoforge")
NIGHT: Mapping[str, Any] = {"environments": 4, "mistakes": 0.0}


def begin(lake: Lake, run: str, recipe: RecipeName = "envscaler", **config: Any) -> SeedChoice:
    """What opening a run leaves in the lake."""
    asked = RunConfig.model_validate({"recipe": recipe, **NIGHT, **config})
    lake.fix(run, "config", asked.model_dump(mode="json"))
    note(lake, run, "started", {})
    return settle_choice(lake, run, asked, RECIPES[recipe](read_themes()))


def name(choice: SeedChoice) -> list[tuple[str, int]]:
    return [(seed.brief.theme, seed.brief.number) for seed in choice.seeds]


def list_cells(choice: SeedChoice) -> set[str]:
    return {seed.brief.cell.name if seed.brief.cell else seed.brief.theme for seed in choice.seeds}


@pytest.mark.parametrize("recipe", PICKED)
def test_nights_share_no_seed(tmp_path: Path, recipe: RecipeName) -> None:
    """Themes last for the first three nights of four; of errands, cells do."""
    lake = Lake(tmp_path)
    nights = [begin(lake, f"night{number}", recipe, seed=number) for number in range(3)]
    ids = [seed.id for night in nights for seed in night.seeds]
    assert len(ids) == len(set(ids)) == 12
    cells = [list_cells(night) for night in nights]
    assert sum(map(len, cells)) == len(set[str]().union(*cells)) == 12


@pytest.mark.parametrize("recipe", PICKED)
def test_nights_of_the_same_seed_share_none_either_and_do_where_history_is_switched_off(
    tmp_path: Path, recipe: RecipeName
) -> None:
    first, second = (begin(Lake(tmp_path / "on"), run, recipe, seed=7) for run in ("a", "b"))
    assert not {seed.id for seed in first.seeds} & {seed.id for seed in second.seeds}
    first, second = (
        begin(Lake(tmp_path / "off"), run, recipe, seed=7, fresh=False) for run in ("a", "b")
    )
    assert name(first) == name(second)


@pytest.mark.parametrize("recipe", ["envscaler", "scaleenv", "envfactory", "perturb"])
def test_the_run_seed_decides_in_an_empty_lake(tmp_path: Path, recipe: RecipeName) -> None:
    nights = [begin(Lake(tmp_path / str(seed)), "night", recipe, seed=seed) for seed in range(4)]
    assert len({tuple(name(night)) for night in nights}) == 4
    assert name(begin(Lake(tmp_path / "again"), "night", recipe, seed=2)) == name(nights[2])


@pytest.mark.parametrize(
    ("recipe", "themes"), [("envscaler", 41), ("envfactory", 41), ("perturb", 14)]
)
def test_themes_come_again_when_all_are_used_and_then_under_another_variation(
    tmp_path: Path, recipe: RecipeName, themes: int
) -> None:
    lake, size = Lake(tmp_path), themes // 2
    nights = [
        begin(lake, f"night{number}", recipe, seed=number, environments=size) for number in range(5)
    ]
    seeds = [seed for night in nights for seed in night.seeds]
    assert len({seed.id for seed in seeds}) == len(seeds) == 5 * size
    used = Counter(seed.brief.theme for seed in seeds)
    assert max(used.values()) - min(used.values()) <= 1, (
        "none is used a third time before all are used twice"
    )
    assert len({seed.brief.theme for seed in seeds[:themes]}) == themes
    assert {number for _, number in name(nights[2])} == ({0, 1} if themes % 2 else {1})
    assert set(name(nights[2])) & set(name(nights[0])) == set()


def test_a_retry_starts_from_what_it_started_from(tmp_path: Path) -> None:
    """Other runs landed in between, and the factory got other themes."""
    lake = Lake(tmp_path)
    first = begin(lake, "night", seed=3)
    for other in range(4):
        begin(lake, f"other{other}", seed=3)
    assert begin(lake, "night", seed=3) == first
    asked = RunConfig(environments=4, seed=3)
    assert (
        settle_choice(lake, "night", asked, RECIPES["envscaler"]([("elsewhere", "Another theme.")]))
        == first
    )
    lake.fix(
        "cut", "config", asked.model_dump(mode="json")
    )  # a kill between the config and the choice: nothing rests on it yet
    assert not {
        seed.id
        for seed in settle_choice(lake, "cut", asked, RECIPES["envscaler"](read_themes())).seeds
    } & {seed.id for seed in first.seeds}


async def test_a_run_that_is_opened_twice_at_once_has_one_choice(tmp_path: Path) -> None:
    settings, config = settings_in(tmp_path), RunConfig(environments=3, seed=5)
    begin(Lake(settings.lake), "earlier", seed=5)

    async def enter(run: str) -> list[str]:
        async with open_walk(run, config, settings) as walk:
            await walk.plan(walk.line[0])
            return [subject.id for subject in walk.line[0].enter(walk._upstream)]  # pyright: ignore[reportPrivateUsage]

    first, second, other = await asyncio.gather(enter("night"), enter("night"), enter("other"))
    assert first == second == await enter("night")
    stored = find_choice(Lake(settings.lake), "night")
    assert stored is not None
    assert [seed.id for seed in stored.seeds] == first
    assert len(other) == 3


def test_work_that_began_before_choices_were_stored_goes_on_in_the_order_of_that_time(
    tmp_path: Path,
) -> None:
    lake = Lake(tmp_path)
    begin(lake, "other", seed=1)
    lake.put(Attrition, [], "old", Stamp("old", "environments-generate", "", 0, 1, "", "t"))
    themes = [theme for theme, _ in read_themes()[:4]]
    assert name(begin(lake, "old", seed=9)) == [(theme, 0) for theme in themes]


def test_first_skips_seeds_in_the_order_of_the_run(tmp_path: Path) -> None:
    whole = begin(Lake(tmp_path / "whole"), "night", seed=4, environments=7)
    assert (
        name(begin(Lake(tmp_path / "part"), "night", seed=4, environments=4, first=3))
        == name(whole)[3:]
    )


@pytest.mark.parametrize("more", [{}, {"fresh": False}, {"reuse": "preview"}])
def test_rounds_of_a_target_share_no_seed(tmp_path: Path, more: dict[str, Any]) -> None:
    lake = Lake(tmp_path)
    begin(lake, "preview", seed=6, environments=2)
    config = RunConfig.model_validate({"environments": 4, "seed": 6, "target": 99, **NIGHT, **more})
    rounds: list[SeedChoice] = []
    for number in (1, 2, 3):
        each = make_round(config, "night", number).model_dump(
            include={"first", "environments", "seed", "fresh", "reuse"}
        )
        rounds.append(begin(lake, "night" if number == 1 else f"night-r{number}", **each))
    ids = [seed.id for each in rounds for seed in each.seeds]
    assert len(ids) == len(set(ids)) == 12


def test_a_run_that_reuses_replies_asks_what_was_asked(tmp_path: Path) -> None:
    lake = Lake(tmp_path)
    begin(lake, "earlier", seed=2)
    preview = begin(lake, "preview", seed=8, environments=2)
    assert name(begin(lake, "whole", seed=8, reuse="preview"))[:2] == name(preview)
    played = begin(lake, "played", seed=8, provider="replay", recording="preview")
    assert name(played)[:2] == name(preview)


def test_other_recipes_and_other_lakes_do_not_count(tmp_path: Path) -> None:
    lake = Lake(tmp_path / "one")
    first = begin(lake, "a", seed=1)
    begin(lake, "b", "scaleenv", seed=1)
    assert read_lake(lake, RunConfig()).turns == {theme: 1 for theme, _ in name(first)}
    assert name(begin(Lake(tmp_path / "other"), "a", seed=1)) == name(first)


def test_themes_that_were_mined_count_where_they_were_used(tmp_path: Path) -> None:
    """And all that were worth building are known by name."""
    lake = Lake(tmp_path)

    def make(theme: str, score: int, number: int = 0) -> Seed:
        brief = Brief(theme=theme, text=f"About {theme}.", number=number)
        return Seed(
            recipe="awm",
            brief=brief,
            licence="MIT",
            source="text",
            usefulness=score,
            modelability=8,
        )

    seeds = [make("kept", 8), make("surplus", 8), make("odd", 2), make("again", 8, 3)]
    plans = [_plan(seeds[0]), _plan(seeds[3])]
    note(lake, "old", "started", {})
    lake.publish(
        [*seeds, *plans], [], Stamp("old", "environments-generate", "m" * 20, 0, 1, "", "t")
    )
    assert read_lake(lake, RunConfig(recipe="awm")) == Past(
        turns={"again": 4, "kept": 1},
        named={theme: f"About {theme}." for theme in ("again", "kept", "surplus")},
    )
    assert read_lake(lake, RunConfig(recipe="awm"), apart="old") == Past()


def _plan(seed: Seed) -> Blueprint:
    origin = {
        "recipe": "awm",
        "seed": seed.id,
        "provider": "offline",
        "model": "",
        "prompt": "",
        "prompt_hash": "",
    }
    told = {
        "name": "",
        "summary": "",
        "collections": {},
        "rules": [],
        "tools": [],
        "policy_document": "",
        "licence": "MIT",
    }
    return Blueprint.model_validate({"kind": "sql", "brief": seed.brief, "origin": origin, **told})


@pytest.mark.long
@pytest.mark.parametrize("recipe", GROWN)
async def test_nights_that_grow_their_themes_share_no_seed(
    tmp_path: Path, recipe: RecipeName
) -> None:
    settings = settings_in(tmp_path)
    nights: list[set[str]] = []
    texts: list[list[str]] = []
    for number in range(3):
        config = RunConfig(recipe=recipe, environments=2, seed=1, mistakes=0.0)
        async with open_walk(f"night{number}", config, settings) as walk:
            await walk.walk(walk.line[:2])
            nights.append({one.origin.seed for one in walk.lake.read(Blueprint, f"night{number}")})
            texts.append(walk.context.recipe.pick_texts(config, walk.context.past))
    assert all(nights)
    assert sum(map(len, nights)) == len(set[str]().union(*nights))
    if recipe == "awm":
        past = read_lake(Lake(settings.lake), config)
        shipped = {theme for theme, _ in read_themes()}
        examples = {theme for text in texts[2] for theme in json.loads(text)["inputs"]["known"]}
        assert len(past.turns) == sum(map(len, nights)), (
            "while there are new places, none comes again"
        )
        assert set(past.turns) <= shipped
        assert examples & set(past.named), "what earlier nights named is among the examples"
        assert all(set(json.loads(text)["inputs"]["taken"]) <= set(past.turns) for text in texts[2])


async def test_a_grown_theme_that_is_named_again_comes_under_another_variation() -> None:
    recipe, past = RECIPES["awm"]([]), Past(turns={"port": 2})
    from schemas.prompts import ThemeReply

    found = ThemeReply(
        reason="",
        stateful=True,
        specific=True,
        theme="port",
        description="Ships.",
        usefulness=8,
        modelability=8,
    )
    seeds = [
        recipe.make_seed(found, "MIT", "text", RunConfig(recipe="awm"), each)
        for each in (Past(), past)
    ]
    assert [seed.brief.number for seed in seeds] == [0, 2]
    assert seeds[0].id != seeds[1].id
