"""`estimate`: what a run would ask of models and what that may cost, before it is started."""

# ruff: noqa: ARG001  options are read from the context, all at once

from typing import Annotated

import typer

COLUMNS = ("step", "prompt", "role", "model", "calls", "tokens_in", "tokens_out", "cost", "basis")


def estimate(
    context: typer.Context,
    environments: Annotated[int | None, typer.Option(help="Candidate environments.")] = None,
    scenarios: Annotated[int | None, typer.Option(help="Scenarios per kept environment.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    recipe: Annotated[str | None, typer.Option(help="How environments are thought up.")] = None,
    provider: Annotated[str | None, typer.Option(help="Who would answer prompts.")] = None,
    model: Annotated[str | None, typer.Option(help="Model that would be asked.")] = None,
) -> None:
    """Model calls, tokens and money a run would take: from finished runs of the recipe, and from the first step's prompts as they are sent.

    Input tokens of known prompts are counted by the server, where it counts: that is free. Others become exact once the model was asked.
    An offline run of the recipe tells how many calls there are and how long.
    """
    import asyncio

    from envmill import author
    from envmill.estimate import estimate as foresee
    from envmill.lake.lake import Lake
    from envmill.models.counting import Scales
    from envmill.models.prices import Prices
    from envmill.recipes import RECIPES
    from flows.cli.order import make_config
    from flows.cli.table import show

    config = make_config(dict(context.params), None, context.obj)
    settings = context.obj.settings
    means = RECIPES[config.recipe](author.themes())
    found = asyncio.run(foresee(Lake(settings.lake), config, means, Prices.load(settings.prices), Scales(settings)))
    show(COLUMNS, [[getattr(one, column) for column in COLUMNS] for one in found])
    known = [one.cost for one in found if one.cost is not None]
    total = f"{sum(known):.4g}" if len(known) == len(found) else "unknown"
    typer.echo(f"{sum(one.calls for one in found)} calls, cost {total}", err=True)
    if len({one.step for one in found}) < 2:
        typer.echo(f"No finished run of {config.recipe} yet: what later steps take is unknown. An offline run of it tells.", err=True)
