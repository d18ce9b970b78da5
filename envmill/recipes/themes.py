"""Themes: seeds of the known ones, the theme behind a text, and a seed of a theme that was found."""

from envmill.models.gateway import ModelSession
from envmill.models.prompt import Prompt
from envmill.recipes.base import PROMPTS, Themes
from schemas.prompts import ThemeInput, ThemeReply
from schemas.run import RecipeName, RunConfig
from schemas.seed import Brief, Seed

_SIZES = {"tools", "collections", "rows", "distractors"}


def load_theme() -> Prompt:
    return Prompt.load(PROMPTS / "shared" / "theme.md", ThemeInput, ThemeReply)


def pick_themes(recipe: RecipeName, themes: Themes, config: RunConfig) -> list[Seed]:
    """Themes in turn, so that every domain gets its share; later rounds ask for another variation."""
    picked: list[Seed] = []
    for index in range(config.environments):
        theme, text = themes[index % len(themes)]
        number = index // len(themes)
        brief = Brief.model_validate({"theme": theme, "text": text, "number": number} | config.model_dump(include=_SIZES))
        picked.append(Seed(recipe=recipe, brief=brief, licence="Apache-2.0"))
    return picked


async def find_theme(prompt: Prompt, text: str, models: ModelSession) -> ThemeReply:
    """The environment that a text comes from."""
    return await models.ask(prompt, ThemeInput(text=text), ThemeReply)


def seed_theme(recipe: RecipeName, theme: ThemeReply, licence: str, source: str, config: RunConfig) -> Seed:
    """A found theme as a seed, of the sizes that the run asks for."""
    brief = Brief.model_validate({"theme": theme.theme, "text": theme.description, "number": 0} | config.model_dump(include=_SIZES))
    scores = {"usefulness": theme.usefulness, "modelability": theme.modelability}
    return Seed.model_validate({"recipe": recipe, "brief": brief, "licence": licence, "source": source} | scores)
