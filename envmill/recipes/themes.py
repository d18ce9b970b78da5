"""Themes: seeds of the known ones, the theme behind a text, and a seed of a theme that was
found."""

from collections.abc import Iterator, Sequence
from heapq import heapify, heapreplace
from itertools import islice

from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS, Themes
from schemas.base import digest
from schemas.choice import NO_PAST, Past
from schemas.prompts import ThemeInput, ThemeReply
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed

_SIZES = {"tools", "collections", "rows", "calls", "distractors"}


def load_theme() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "theme.md", ThemeInput, ThemeReply)


def pick_themes(
    recipe: RecipeName, themes: Themes, config: RunConfig, past: Past = NO_PAST
) -> list[Seed]:
    """Least-used themes first, so that every domain gets its share; one that comes again asks for
    another variation."""
    texts, sizes = dict(themes), config.model_dump(include=_SIZES)
    picked: list[Seed] = []
    for theme, number in islice(order_turns(list(texts), config, past), config.environments):
        brief = Brief.model_validate(
            {"theme": theme, "text": texts[theme], "number": number} | sizes
        )
        picked.append(Seed(recipe=recipe, brief=brief, licence="Apache-2.0"))
    return picked


def order_turns(names: Sequence[str], config: RunConfig, past: Past) -> Iterator[tuple[str, int]]:
    """Names without end, each with its next variation: those with the fewest first, and among
    equals in an order that the run's seed says.

    Without `fresh`, equals come as they are listed, and earlier runs do not count.
    """

    def rank(place: int, turn: int) -> tuple[int, str, int]:
        return turn, digest([config.run_seed, names[place], turn]) if config.fresh else "", place

    turns = [
        rank(place, past.turns.get(name, 0) if config.fresh else 0)
        for place, name in enumerate(names)
    ]
    heapify(turns)
    while turns:
        turn, _, place = turns[0]
        yield names[place], turn
        heapreplace(turns, rank(place, turn + 1))


async def find_theme(prompt: Prompt, text: str, models: ModelSession) -> ThemeReply:
    """The environment that a text comes from."""
    return await models.ask(prompt, ThemeInput(text=text), ThemeReply)


def seed_theme(
    recipe: RecipeName,
    theme: ThemeReply,
    licence: str,
    source: str,
    config: RunConfig,
    past: Past = NO_PAST,
) -> Seed:
    """A found theme as a seed, of the sizes that the run asks for; one that was used before, under
    its next variation."""
    told = {
        "theme": theme.theme,
        "text": theme.description,
        "number": past.turns.get(theme.theme, 0),
    }
    brief = Brief.model_validate(told | config.model_dump(include=_SIZES))
    scores = {
        "usefulness": theme.usefulness,
        "modelability": theme.modelability,
        "field": theme.field,
    }
    return Seed.model_validate(
        {"recipe": recipe, "brief": brief, "licence": licence, "source": source} | scores
    )
