"""`estimate`: what a run would ask of models and what that may cost, before it is started."""

# ruff: noqa: ARG001  options are read from the context, all at once

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from envmill.estimate import Forecast
    from flows.local.home import Home
    from schemas.run import RunConfig

COLUMNS = ("step", "prompt", "role", "model", "calls", "tokens_in", "tokens_out", "cost", "basis")


def estimate(
    context: typer.Context,
    environments: Annotated[int | None, typer.Option(help="Candidate environments.")] = None,
    scenarios: Annotated[int | None, typer.Option(help="Scenarios per kept environment.")] = None,
    attempts: Annotated[int | None, typer.Option(help="Attempts per scenario.")] = None,
    corpus: Annotated[str | None, typer.Option(help="Corpus that themes would be mined from: a file, or own.")] = None,
    column: Annotated[str | None, typer.Option(help="Column of the corpus that holds the texts.")] = None,
    texts: Annotated[int | None, typer.Option(help="How many texts of the corpus would be looked at.")] = None,
    checks: Annotated[str | None, typer.Option(help="Where goals would come from: derived, or written.")] = None,
    review: Annotated[bool | None, typer.Option(help="Whether two models would review every environment.")] = None,
    judged: Annotated[bool | None, typer.Option(help="Whether a model would rule on what verifiers passed, too.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    recipe: Annotated[str | None, typer.Option(help="How environments are thought up.")] = None,
    provider: Annotated[str | None, typer.Option(help="Who would answer prompts.")] = None,
    model: Annotated[str | None, typer.Option(help="Model that would be asked.")] = None,
    critic: Annotated[str | None, typer.Option(help="Model that would review, as provider:model.")] = None,
    judge: Annotated[str | None, typer.Option(help="Model that would judge, as provider:model.")] = None,
    policy: Annotated[str | None, typer.Option(help="Model that would act, as provider:model.")] = None,
    user: Annotated[str | None, typer.Option(help="Model that would play the user, as provider:model.")] = None,
    probe: Annotated[str | None, typer.Option(help="Policy that would probe scenarios: model asks the one of --policy.")] = None,
    weak: Annotated[str | None, typer.Option(help="Weak policy, named as the probe is.")] = None,
    teacher: Annotated[str | None, typer.Option(help="Policy that would be learnt from, named as the probe is.")] = None,
    form: Annotated[str | None, typer.Option(help="How the policy would be asked: single, conversation, or mixed.")] = None,
    person: Annotated[str | None, typer.Option(help="Who would play the user: auto, scripted, or model.")] = None,
) -> None:
    """Model calls, tokens and money a run would take: from finished runs of the recipe, and from the first step's prompts as they are sent.

    With a corpus, every text of it is counted; where models act, their past attempts are, or else how much scripted ones took.

    Input tokens of known prompts are counted by the server, where it counts: that is free. Others become exact once the model was asked.
    An offline run of the recipe tells how many calls there are and how long.
    """
    from flows.cli.order import make_config

    show_estimate(context.obj, make_config(dict(context.params), None, context.obj))


def show_estimate(home: "Home", config: "RunConfig") -> None:
    """The table, and the whole below it."""
    import asyncio

    from envmill import author
    from envmill.estimate import estimate as foresee
    from envmill.lake.lake import Lake
    from envmill.models.counting import Scales
    from envmill.models.prices import Prices
    from envmill.recipes import RECIPES
    from flows.cli.table import show

    settings = home.settings
    means = RECIPES[config.recipe](author.themes())
    found = asyncio.run(foresee(Lake(settings.lake), config, means, Prices.load(settings.prices), Scales(settings)))
    show(COLUMNS, [[getattr(one, column) for column in COLUMNS] for one in found])
    for line in _sum_up(found, config.recipe, settings.prices):
        typer.echo(line, err=True)


def _sum_up(found: "Sequence[Forecast]", recipe: str, prices: Path) -> Iterator[str]:
    """The whole, and what is not known of it."""
    known = [one.cost for one in found if one.cost is not None]
    total = f"{sum(known):.4g}" if len(known) == len(found) else "unknown"
    yield f"{sum(one.calls for one in found)} calls, cost {total}"
    for unpriced in sorted({one.model for one in found if not one.priced}):
        yield f"No price of {unpriced}: enter it in {prices}, with where and when it was read."
    if len({one.step for one in found}) < 2:
        yield f"No finished run of {recipe} yet: what later steps take is unknown. An offline run of it tells."
