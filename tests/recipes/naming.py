"""The novelty curve of AWM's names: `python -m tests.recipes.naming` draws
`docs/recipes/awm-names.svg`.

night ─► calls for three names an environment ─► names ─► chosen ─► the next night's past
"""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, cast

import offline as author
from envmill.base.settings import ROOT
from envmill.models.gateway import ModelSession
from envmill.recipes import RECIPES
from envmill.recipes.drafting.themes import read_themes
from envmill.report.curve import Points, render_curve
from envmill.stages.choosing import choose_seeds
from schemas.choice import Past
from schemas.run import RunConfig
from schemas.seed import Seed
from tests.real_authors.corpus import ROOT as RECORDED
from tests.real_authors.corpus import read_json

SVG = ROOT / "docs/recipes/awm-names.svg"
NIGHTS, WANTED, SEED = 6, 8, 28


class _Offline:
    """The embedded author, without mistakes."""

    provider = model = "offline"

    async def ask(self, prompt: Any, inputs: Any, reply: Any, **_: Any) -> Any:
        return reply.model_validate_json(
            author.answer(prompt.name, inputs.model_dump(mode="json"), SEED, 0, 0.0)
        )


async def grow_nights(nights: int = NIGHTS) -> list[list[str]]:
    """Themes that the embedded author names, night by night; each night knows the ones before."""
    recipe, past, named = RECIPES["awm"](read_themes()), Past(), list[list[str]]()
    for night in range(nights):
        config = RunConfig(recipe="awm", environments=WANTED, seed=SEED + night)
        seeds = [
            recipe.make_seed(found, "MIT", f"{night}/{place}", config, past)
            for place, text in enumerate(recipe.pick_texts(config, past))
            for found in await recipe.grow(text, cast(ModelSession, _Offline()))
        ]
        named.append([seed.brief.theme for seed in seeds])
        past = _remember(
            past,
            seeds,
            set(choose_seeds(seeds, WANTED, config.score, past, per_field=config.per_field)),
        )
    return named


def _remember(past: Past, seeds: Sequence[Seed], left: set[str]) -> Past:
    turns, fields = dict(past.turns), Counter(past.fields)
    for seed in (seed for seed in seeds if seed.id not in left):
        turns[seed.brief.theme] = max(turns.get(seed.brief.theme, 0), seed.brief.number + 1)
        fields[seed.field] += bool(seed.field)
    return Past(
        turns=turns,
        named=past.named | {seed.brief.theme: seed.brief.text for seed in seeds},
        fields=dict(fields),
    )


def list_recorded() -> list[str]:
    """Themes that a real author named in four calls."""
    replies: list[Any] = [
        read_json(path) for path in sorted((RECORDED / "awm/mined").glob("names.*.json"))
    ]
    return [one["theme"] for reply in replies for one in reply["names"]]


def count_distinct(themes: Sequence[str]) -> Points:
    return [(number, len(set(themes[:number]))) for number in range(1, len(themes) + 1)]


async def draw() -> str:
    nights = await grow_nights()
    series = {
        "real author": count_distinct(list_recorded()),
        "offline, one night": count_distinct(nights[0]),
        f"offline, {NIGHTS} nights": count_distinct([theme for night in nights for theme in night]),
    }
    return render_curve(series, "names", "distinct names")


if __name__ == "__main__":
    SVG.write_text(asyncio.run(draw()), encoding="utf-8")
