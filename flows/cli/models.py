"""`models`: which models can be asked, without asking them anything."""

from typing import Annotated

import typer


def models(
    context: typer.Context,
    specs: Annotated[
        list[str] | None,
        typer.Argument(help="Models like openai:my-model@my_server; every server when left out."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, max=600, help="Most seconds to wait for a server.")
    ] = 10.0,
) -> None:
    """List the servers that are set, or check models by name: whether they can be reached, who serves them, whether they have a price.

    Each server is asked for its list of models, which costs nothing. Exits with 1 when a model that
    was named cannot be used.
    """
    import asyncio

    from envmill.models.prices import Prices
    from envmill.models.server_probe import ServerProbe
    from flows.cli.table import show

    watch = ServerProbe(context.obj.settings, Prices.load(context.obj.settings.prices), timeout)
    seen = asyncio.run(watch.check(specs or []))
    rows = [
        (one.name, one.server, one.key, one.family, one.reachable, one.models, one.priced)
        for one in seen
    ]
    show(
        [
            "model" if specs else "server",
            "address",
            "key",
            "family",
            "reachable",
            "models",
            "priced",
        ],
        rows,
    )
    if specs and not all(one.usable for one in seen):
        raise typer.Exit(1)
