"""The choice of seeds: made once, when a run is opened, from its own seed and from what earlier
runs of the recipe started from.

earlier runs ─► their choices, or the themes they built ─► Past ─► recipe.pick_seeds ─► SeedChoice, fixed with the run
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.lake.stores.base import ask_each
from envmill.models.recording import is_file, read_past
from envmill.pipeline.given import HandedLap, find_given
from envmill.recipes.base import Recipe
from schemas.choice import NO_PAST, Past, SeedChoice
from schemas.run import RunConfig
from schemas.seed import Brief, Seed

_NAME = "seeds"

_FOUND = """
    select s.brief ->> 'theme', s.brief ->> 'text', (s.brief ->> 'number')::bigint, s.brief -> 'cell',
           s.source <> '' and s.usefulness >= $score and s.modelability >= $score,
           s.source = '' or exists (from blueprints b where b.run = s.run and b.origin ->> 'seed' = s.id), coalesce(s.field, '')
    from seeds s where s.recipe = $recipe and not list_contains($known, s.run) order by all"""
"""Of runs that mined or grew their themes, and of those that were begun before choices were stored:
theme, text, variation and cell of each seed; whether it was named by a model and worth building,
whether it was used, and its field of work."""


def is_mined(config: RunConfig, recipe: Recipe) -> bool:
    """Whether themes are looked for before anything else: in a corpus, or in texts of the recipe's
    own."""
    return not config.given_by and bool(config.corpus or recipe.pick_texts(config, NO_PAST))


def pick_round(recipe: Recipe, config: RunConfig, past: Past = NO_PAST) -> list[Seed]:
    """As many seeds as the run wants, without the first ones that it is told to skip."""
    return recipe.pick_seeds(
        config.model_copy(update={"environments": config.first + config.environments}), past
    )[config.first :]


def find_choice(lake: Lake, run: str) -> SeedChoice | None:
    """The choice of a run that was opened; None for a run without one."""
    stored = lake.find_fixed(run, _NAME)
    return None if stored is None else SeedChoice.model_validate(stored)


def settle_choice(lake: Lake, run: str, config: RunConfig, recipe: Recipe) -> SeedChoice:
    """The choice of the run: the stored one, or else a new one, which is stored before anything
    rests on it."""
    if (stored := find_choice(lake, run)) is not None:
        return stored
    if config.given_by:
        given = find_given(lake, config, recipe)
        choice = SeedChoice(seeds=HandedLap(lake, given).list_seeds(), given=given)
        return SeedChoice.model_validate(lake.fix(run, _NAME, choice.model_dump(mode="json")))
    if lake.files(
        "attrition", run
    ):  # work began before choices were stored: it goes on in the order of that time
        config = config.model_copy(update={"fresh": False})
    past = _find_past(lake, run, config) if config.fresh else NO_PAST
    seeds = [] if is_mined(config, recipe) else pick_round(recipe, config, past)
    return SeedChoice.model_validate(
        lake.fix(run, _NAME, SeedChoice(past=past, seeds=seeds).model_dump(mode="json"))
    )


def _find_past(lake: Lake, run: str, config: RunConfig) -> Past:
    """A run that answers with the replies of another one asks what that one asked: it has the same
    past."""
    if config.provider == "replay" and is_file(config.recording):
        return read_past(config.recording)
    origin = config.recording if config.provider == "replay" else config.reuse
    if origin and (choice := find_choice(lake, origin)) is not None:
        return choice.past
    return read_lake(lake, config, apart=run)


def read_lake(lake: Lake, config: RunConfig, apart: str = "") -> Past:
    """What the lake's runs of the recipe started from; the run `apart` is not counted."""
    others = [run for run in lake.runs() if run != apart]
    chosen = {
        run: choice
        for run, choice in zip(
            others, ask_each(lake.store, lambda run: find_choice(lake, run), others), strict=True
        )
    }
    # Seeds of given environments were counted where they were first used.
    known = {
        run: choice.seeds if choice.given is None else []
        for run, choice in chosen.items()
        if choice is not None and choice.seeds
    }
    started = [seed for seeds in known.values() for seed in seeds if seed.recipe == config.recipe]
    briefs, fields = [seed.brief for seed in started], Counter(seed.field for seed in started)
    named: dict[str, str] = {}
    asked = {"recipe": config.recipe, "score": config.score, "known": [*known, apart]}
    for theme, text, number, cell, is_named, is_used, field in (
        fetch(lake, _FOUND, asked) if set(others) - set(known) else ()
    ):
        if is_named:
            named[theme] = text
        if is_used:
            briefs.append(
                Brief.model_validate({"theme": theme, "text": text, "number": number, "cell": cell})
            )
            fields[field] += 1
    told = {field: times for field, times in sorted(fields.items()) if field}
    return Past(
        turns=_count_turns(briefs),
        named=named,
        fields=told,
        cells=dict(sorted(Counter(_name_cells(briefs)).items())),
    )


def _count_turns(briefs: Iterable[Brief]) -> dict[str, int]:
    turns: dict[str, int] = {}
    for brief in briefs:
        turns[brief.theme] = max(turns.get(brief.theme, 0), brief.number + 1)
    return dict(sorted(turns.items()))


def _name_cells(briefs: Iterable[Brief]) -> Iterator[str]:
    for brief in briefs:
        if brief.cell is not None:
            yield brief.cell.name
