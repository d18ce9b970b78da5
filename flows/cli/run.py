"""`run`: ask the local server for a factory run, and follow it."""

import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.cli.printing import print_text
from flows.spread.names import RunnerName

if TYPE_CHECKING:
    from flows.local.home import Home
    from schemas.run import RunConfig


def run(
    context: typer.Context,
    resume: Annotated[
        str | None,
        typer.Option(help="Id of a run to go on with; it keeps the settings it started with."),
    ] = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Start nothing; show the config and what the run would ask and cost."
        ),
    ] = False,
    preview: Annotated[
        int | None,
        typer.Option(
            "-n", min=1, max=20, help="Make so many environments first, show them whole, and ask."
        ),
    ] = None,
    yes: Annotated[bool, typer.Option("--yes", help="After -n, go on without asking.")] = False,
    wait: Annotated[bool, typer.Option(help="Follow the run to its end.")] = True,
    remote: Annotated[
        bool,
        typer.Option(
            "--remote", help="Ask the server that PREFECT_API_URL names instead of this home's own."
        ),
    ] = False,
    runner: Annotated[
        RunnerName,
        typer.Option(
            help="Processes that work on the run's buckets: its own, or those of a Dask or Ray cluster (docs/runners.md)."
        ),
    ] = "local",
    **settings: Any,
) -> None:
    """Run the factory once. Every setting of a run is an option; one that is left out keeps its
    default.

    Several recipes, like `--recipe awm,scaleenv`, get one run each, one after another. Exits with 0
    only when the run completes.
    Ctrl-C ends the run; --resume continues it, also with another --budget or
    --budget-tokens.
    """
    from flows.cli.order import make_config, run_factory

    if "," in (settings["recipe"] or ""):
        return _run_each(context, settings, wait, remote, runner)
    config = make_config(settings, resume, context.obj)
    if dry_run:
        return _show_plan(context.obj, config)
    if resume is not None and not remote and _is_finished(context.obj, resume):
        return None
    if preview is not None:
        config = _preview(context.obj, config, preview, yes)
    try:
        completed = run_factory(context.obj, config, wait, remote, runner).completed
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(0 if completed else 1)


def _run_each(
    context: typer.Context, settings: dict[str, Any], wait: bool, remote: bool, runner: RunnerName
) -> None:
    """One run for each recipe, one after another."""
    from flows.cli.several import run_recipes

    try:
        completed = run_recipes(context.obj, settings, context.params, wait, remote, runner)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    raise typer.Exit(0 if completed else 1)


def _show_plan(home: "Home", config: "RunConfig") -> None:
    from flows.cli.estimate import show_estimate

    for name, value in config.model_dump(mode="json", exclude_unset=True).items():
        print_text(f"{name} = {value}", err=True)
    if config.given_by:
        _show_given(home, config)
    show_estimate(home, config)
    if config.target is not None:
        print_text(
            f"This is one round; at most {config.max_candidates or 4 * config.target} candidates "
            "enter in all.",
            err=True,
        )
    print_text("Nothing was started.", err=True)


def _show_given(home: "Home", config: "RunConfig") -> None:
    """What the run would start from."""
    from envmill.lake.lake import Lake
    from envmill.lake.stores import open_store
    from envmill.pipeline.given import find_given
    from envmill.recipes import RECIPES
    from envmill.recipes.drafting.themes import read_themes

    given = find_given(
        Lake(open_store(home.settings.lake)), config, RECIPES[config.recipe](read_themes())
    )
    print_text(f"{len(given.environments)} environments of {', '.join(given.runs)}", err=True)
    if config.harden:
        print_text(f"{len(given.parents)} easy scenarios get a harder one", err=True)
        for reason, count in given.skipped.items():
            print_text(f"{count} kept scenarios {reason}", err=True)


def _is_finished(home: "Home", run: str) -> bool:
    """Nobody needs a flow run to learn that nothing is left to do, or that another version has to
    do it."""
    from envmill.lake.lake import Lake
    from envmill.lake.stores import open_store
    from envmill.pipeline.finished import is_finished
    from envmill.pipeline.version import check_version

    lake = Lake(open_store(home.settings.lake))
    if not is_finished(lake, run):
        check_version(run, lake)
        return False
    print_text(
        f"run {run} is finished, and nothing of it is lacking. `envmill report {run}` writes its "
        "report."
    )
    return True


def _preview(home: "Home", config: "RunConfig", count: int, yes: bool) -> "RunConfig":
    """The run then reuses what the preview was answered."""
    from flows.cli.preview import make_preview

    config = make_preview(home, config, count)
    if not (yes or (sys.stdin.isatty() and typer.confirm("\nGo on with the whole run?"))):
        print_text(
            "Nothing more was started. To go on: the same with --yes, or with --reuse "
            f"{config.reuse} instead of -n.",
            err=True,
        )
        raise typer.Exit(0)
    return config
