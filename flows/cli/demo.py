"""`demo`: a finished run from nothing, through the real server, in a home of its own."""

import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import Annotated

import typer

from flows.local.home import Home

QUESTIONS = {
    "Where did candidates die, and why?": "select lap, stage, outcome, reason, subjects from failures where run = ?",
    "Which share of attempts passes, by theme and policy? (The author is offline: this shows plumbing, never difficulty.)": (
        "select theme, policy, form, attempts, passed, round(pass_rate, 2) as pass_rate from pass_rate where run = ?"
    ),
}
"""What the demo asks the lake about its own run."""


def demo(
    context: typer.Context,
    keep: Annotated[bool, typer.Option("--keep", help="Leave the server running afterwards.")] = False,
) -> None:
    """Make real environments with no key and no network: start, run, show, stop."""
    from envmill.settings import ROOT
    from flows.local.service import bring_down, bring_up

    home = make_demo_home(context.obj.environ, ROOT / ".envmill/demo")
    finished = False
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # a killed `make` cleans up like Ctrl-C
    try:
        url = bring_up(home, typer.echo)
        finished = _run_and_show(home)
        if finished and keep:
            typer.echo(f"server   {url} (stop it with `ENVMILL_HOME={home.folder} envmill down`)")
    finally:
        # Ctrl-C and failures land here too: nothing of the demo outlives it unasked.
        if not (finished and keep):
            bring_down(home, typer.echo)
    if not finished:
        raise typer.Exit(1)


def make_demo_home(environ: Mapping[str, str], folder: Path) -> Home:
    """The user's own EnvMill and Prefect settings do not reach the demo."""
    kept = {name: value for name, value in environ.items() if not name.startswith("ENVMILL_") or name == "ENVMILL_TRUST_GENERATED_CODE"}
    own = {"ENVMILL_HOME": folder, "ENVMILL_LAKE": folder / "lake", "ENVMILL_BUNDLES": folder / "bundles", "ENVMILL_PORT": 0}
    return Home.read(kept | {name: str(value) for name, value in own.items()})


def _run_and_show(home: Home) -> bool:
    from flows.cli.order import run_factory
    from flows.cli.question import FUNNEL, ask, find_run
    from flows.cli.table import show
    from schemas.run import RunConfig

    if not run_factory(home, RunConfig.model_validate({})):
        return False
    run = find_run(home)
    typer.echo(f"\nfunnel of run {run}")
    show(*ask(home, FUNNEL, [run]))
    for title, question in QUESTIONS.items():
        typer.echo(f"\n{title}\n  {question}")
        show(*ask(home, question, [run]))
    _show_places(home, run)
    return True


def _show_places(home: Home, run: str) -> None:
    from flows.cli.question import ask

    typer.echo(f"\nlake     {home.settings.lake}")
    for exporter, path, files, rows in ask(home, "select exporter, path, files, rows from bundles where run = ? order by path", [run])[1]:
        sizes = json.loads(files).values()
        typer.echo(f"{exporter:12} {home.settings.bundles / path} ({rows} rows, {len(sizes)} files, {sum(sizes)} bytes)")
    envmill = Path(sys.executable).with_name("envmill")
    typer.echo(f"ask more with ENVMILL_LAKE={quote(str(home.settings.lake))} {quote(str(envmill))} sql 'select * from failures'")
