"""`estimate`: what a run would ask of models and what that may cost, before it is started."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from flows.cli.printing import print_text

if TYPE_CHECKING:
    from envmill.pipeline.estimate import Forecast
    from flows.local.home import Home
    from schemas.run import RunConfig

COLUMNS = ("step", "prompt", "role", "model", "calls", "tokens_in", "tokens_out", "cost", "basis")


def estimate(context: typer.Context, **settings: Any) -> None:
    """Estimate the model calls, tokens and money of a run before it starts. It takes the same
    settings as `envmill run`.

    The estimate rests on finished runs of the recipe and on the prompts of the first step as they
    would be sent.

    With a corpus, every text of it is counted. Where models act, their past attempts are counted,
    or else those of scripted policies.

    The server counts the input tokens of known prompts where it can, which is free. Others become
    exact once the model was asked.
    A finished offline run of the recipe tells how many calls there are and how long they are.
    """
    from flows.cli.order import make_config

    show_estimate(context.obj, make_config(settings, None, context.obj))


def show_estimate(home: "Home", config: "RunConfig") -> None:
    """The table, and the whole below it."""
    import asyncio

    from envmill.lake.lake import Lake
    from envmill.models.counting import Scales
    from envmill.models.prices import Prices
    from envmill.pipeline.estimate import estimate as foresee
    from envmill.recipes import RECIPES
    from envmill.recipes.drafting.themes import read_themes
    from flows.cli.table import show

    settings = home.settings
    means = RECIPES[config.recipe](read_themes())
    found = asyncio.run(
        foresee(Lake(settings.lake), config, means, Prices.load(settings.prices), Scales(settings))
    )
    show(COLUMNS, [[getattr(one, column) for column in COLUMNS] for one in found])
    for line in _sum_up(found, config.recipe, settings.prices):
        print_text(line, err=True)


def _sum_up(found: "Sequence[Forecast]", recipe: str, prices: Path) -> Iterator[str]:
    """The whole, and what is not known of it."""
    known = [one.cost for one in found if one.cost is not None]
    total = f"{sum(known):.4g}" if len(known) == len(found) else "unknown"
    yield f"{sum(one.calls for one in found)} calls, cost {total}"
    for unpriced in sorted({one.model for one in found if not one.priced}):
        yield f"No price of {unpriced}: enter it in {prices}, with where and when it was read."
    if len({one.step for one in found}) < 2:
        yield (
            f"No finished run of {recipe} yet: what later steps take is unknown. An offline run "
            "of it tells."
        )
