"""`run`: ask the local server for a factory run, and follow it."""

from typing import Annotated

import typer


def run(
    context: typer.Context,
    environments: Annotated[int | None, typer.Option(help="Candidate environments.")] = None,
    scenarios: Annotated[int | None, typer.Option(help="Scenarios per kept environment.")] = None,
    attempts: Annotated[int | None, typer.Option(help="Attempts per scenario.")] = None,
    seed: Annotated[int | None, typer.Option(help="Seed of the run.")] = None,
    mistakes: Annotated[float | None, typer.Option(help="Mistake rate of the offline author, 0 to 1.")] = None,
    recipe: Annotated[str | None, typer.Option(help="How environments are thought up.")] = None,
    provider: Annotated[str | None, typer.Option(help="Who answers prompts.")] = None,
    resume: Annotated[str | None, typer.Option(help="Id of a run to go on with; it keeps the settings it started with.")] = None,
    wait: Annotated[bool, typer.Option(help="Follow the run to its end.")] = True,
) -> None:
    """Run the factory once. Exits with 0 only when the run completes."""
    given = {
        "environments": environments,
        "scenarios": scenarios,
        "attempts": attempts,
        "seed": seed,
        "mistakes": mistakes,
        "recipe": recipe,
        "provider": provider,
    }
    from flows.cli.order import make_config, run_factory

    config = make_config(given, resume, context.obj)
    try:
        completed = run_factory(context.obj, config, wait)
    except KeyboardInterrupt:
        typer.echo("\nNo longer following. The run goes on; its page tells how far it is.", err=True)
        raise typer.Exit(130) from None
    if not completed:
        raise typer.Exit(1)
