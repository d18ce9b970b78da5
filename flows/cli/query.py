"""`funnel` and `sql`: questions to the lake."""

from typing import Annotated

import typer


def funnel(context: typer.Context, run: Annotated[str | None, typer.Argument(help="Run id; the latest when left out.")] = None) -> None:
    """What entered each step of a run, and what became of it."""
    from flows.cli.question import FUNNEL, ask, find_run
    from flows.cli.table import show

    show(*ask(context.obj, FUNNEL, [find_run(context.obj, run)]))


def sql(context: typer.Context, question: Annotated[str, typer.Argument(help="One SELECT or EXPLAIN statement.")]) -> None:
    """Ask the lake in SQL. Every table is there by its name, and the views runs, funnel, failures and pass_rate."""
    from flows.cli.question import ask
    from flows.cli.table import show

    show(*ask(context.obj, question))
