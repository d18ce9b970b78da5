"""A recipe run bare: the same line that Prefect schedules, in this process and without its server.

recipe, author ─► RunConfig ─► every step ─► RunSummary
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

from pydantic import ValidationError

from envmill.base.errors import SettingsError
from envmill.base.settings import Settings
from envmill.front.asking import query
from envmill.front.background import BackgroundLoop
from envmill.front.settings import settle
from envmill.models.offline import Author
from envmill.pipeline.open_run import open_walk
from schemas.run import RecipeName, RunConfig

_KEPT = (
    "select subject from exits where run = ? and lap = ? and stage = 'filter' and outcome = "
    "'kept' order by subject"
)
_DROPS = """select gate, reason, count(*) as items from attrition where run = ? and outcome = 'dropped' and gate <> 'exit'
            group by all order by items desc, gate, reason"""


@dataclass(frozen=True)
class RunSummary:
    """Results of a run. `envmill.query` answers other questions about it."""

    run: str
    environments: list[str]
    """Ids of the environments that were kept."""
    scenarios: list[str]
    """Ids of the scenarios that were kept."""
    drops: Mapping[tuple[str, str], int]
    """Number of items dropped by gate and reason."""
    folder: Path
    """Folder with the exports; one below it per exporter."""


def run_recipe(
    recipe: RecipeName,
    author: str | Author,
    *,
    environments: int = 2,
    scenarios: int = 3,
    run: str = "",
    settings: Settings | None = None,
    **options: Any,
) -> RunSummary:
    """Run a recipe from its seeds to its exports, and return what was kept.

    `author` is a model as `provider:model` (`openai:NAME@SERVER`), or a function that answers prompts, such as the embedded author
    `offline.answer`. `options` are further settings of a run, as `RunConfig` names them. A run that was cut off continues when it is
    started again with the same `run`.
    """
    settings = settle(settings)
    run = run or f"{recipe.replace('_', '-')}-{uuid4().hex[:8]}"
    config = _configure(
        {
            "recipe": recipe,
            "environments": environments,
            "scenarios": scenarios,
            "run": run,
            **options,
        },
        author,
    )
    background = BackgroundLoop()
    try:
        background.run(_walk(run, config, settings, None if isinstance(author, str) else author))
    finally:
        background.close()
    return _summarise(run, settings)


def _summarise(run: str, settings: Settings) -> RunSummary:
    kept = {
        lap: [row["subject"] for row in query(_KEPT, [run, lap], settings=settings)]
        for lap in ("environments", "scenarios")
    }
    drops = {
        (row["gate"], row["reason"]): row["items"]
        for row in query(_DROPS, [run], settings=settings)
    }
    return RunSummary(run, kept["environments"], kept["scenarios"], drops, settings.bundles / run)


async def _walk(run: str, config: RunConfig, settings: Settings, answer: Author | None) -> None:
    async with open_walk(run, config, settings, answer) as runner:
        await runner.walk()


def _configure(asked: dict[str, Any], author: str | Author) -> RunConfig:
    if isinstance(author, str):
        provider, _, model = author.partition(":")
        asked |= {"provider": provider, "model": model}
    try:
        return RunConfig.model_validate(asked)
    except ValidationError as error:
        wrong = "; ".join(
            f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in error.errors()
        )
        raise SettingsError(
            f"These settings cannot be used: {wrong}. `envmill run --help` describes all of them."
        ) from None
