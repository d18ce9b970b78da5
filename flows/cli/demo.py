"""`demo`: a finished run from nothing, through the real server, in a home of its own."""

import json
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer

from flows.cli.printing import print_text
from flows.local.home import Home

if TYPE_CHECKING:
    from schemas.run import RunConfig

QUESTIONS = {
    "Where did candidates die, and why?": (
        "select lap, stage, outcome, reason, sum(subjects) as subjects from failures where run = "
        "$run group by all "
        "order by subjects desc, lap, stage, reason"
    ),
    "Which share of attempts passes, by policy? (The author is offline: this shows plumbing, "
    "never difficulty.)": (
        "select policy, form, sum(attempts) as attempts, sum(passed) as passed, "
        "round(sum(passed) / (sum(attempts) - sum(errors)), 2) as rate from pass_rate where run = "
        "$run group by all order by all"
    ),
    "Which scenarios would teach the policy that probed them most?": (
        "select name as environment, scenario, attempts, passes, round(trainable, 2) as trainable "
        "from trainability "
        "join environments using (run) where run = $run and environments.id = environment and "
        "policy = 'careless' "
        "order by trainable desc, scenario limit 5"
    ),
}
"""What the demo asks the lake about its own run."""
_PLACES = (
    "select exporter, count(*), sum(rows), list(files) from bundles where run = ? group by "
    "exporter order by exporter"
)
SIZE = {"environments": 24, "scenarios": 4, "attempts": 8, "search": 200}
"""What it makes unless asked for less; the search attacker tries half of what a run gives it, since
nobody trains on a demo."""


def demo(
    context: typer.Context,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the server running afterwards.")
    ] = False,
    environments: Annotated[int, typer.Option(help="Candidate environments.")] = SIZE[
        "environments"
    ],
    scenarios: Annotated[int, typer.Option(help="Scenarios per kept environment.")] = SIZE[
        "scenarios"
    ],
    attempts: Annotated[int, typer.Option(help="Attempts per scenario.")] = SIZE["attempts"],
) -> None:
    """Make real environments with no key and no network: start, run, show, stop."""
    from envmill.base.settings import ROOT
    from flows.cli.order import make_config
    from flows.local.service import bring_down, bring_up

    home = make_demo_home(context.obj.environ, ROOT / ".envmill/demo")
    config = make_config(
        {
            "environments": environments,
            "scenarios": scenarios,
            "attempts": attempts,
            "search": SIZE["search"],
        },
        None,
        home,
    )
    finished = False
    signal.signal(
        signal.SIGTERM, signal.default_int_handler
    )  # a killed `make` cleans up like Ctrl-C
    try:
        url = bring_up(home, print_text)
        finished = _run_and_show(home, config)
        if finished and keep:
            print_text(
                f"server   {url} (log in with `ENVMILL_HOME={home.folder} envmill open`; stop it "
                "with `… envmill down`)"
            )
    finally:
        # Ctrl-C and failures land here too: nothing of the demo outlives it unasked.
        if not (finished and keep):
            bring_down(home, print_text)
    if not finished:
        raise typer.Exit(1)


def make_demo_home(environ: Mapping[str, str], folder: Path) -> Home:
    """The user's own EnvMill and Prefect settings do not reach the demo."""
    kept = {
        name: value
        for name, value in environ.items()
        if not name.startswith("ENVMILL_") or name == "ENVMILL_TRUST_GENERATED_CODE"
    }
    own = {
        "ENVMILL_HOME": folder,
        "ENVMILL_LAKE": folder / "lake",
        "ENVMILL_BUNDLES": folder / "bundles",
        "ENVMILL_PORT": 0,
    }
    return Home.read(kept | {name: str(value) for name, value in own.items()})


def _run_and_show(home: Home, config: "RunConfig") -> bool:
    from flows.cli.order import run_factory
    from flows.cli.question import FUNNEL, ask, find_run
    from flows.cli.report import describe_report
    from flows.cli.table import show

    if not run_factory(home, config).completed:
        return False
    run = find_run(home)
    print_text(f"\nfunnel of run {run}")
    show(*ask(home, FUNNEL, [run]))
    for title, question in QUESTIONS.items():
        asked = question.replace("$run", f"'{run}'")
        print_text(f"\n{title}\n  {asked}")
        show(*ask(home, asked))
    _show_places(home, run)
    describe_report(home, run)
    return True


def _show_places(home: Home, run: str) -> None:
    from flows.cli.question import ask

    print_text(f"\nlake         {home.settings.lake}")
    for exporter, folders, rows, files in ask(home, _PLACES, [run])[1]:
        sizes = [size for each in files for size in json.loads(each).values()]
        held = f"{folders} folders, " if folders > 1 else ""
        print_text(
            f"{exporter:12} {home.settings.bundles / run / exporter} ({held}{rows} rows, "
            f"{len(sizes)} files, {sum(sizes)} bytes)"
        )
    envmill = Path(sys.executable).with_name("envmill")
    print_text(
        f"ask more with ENVMILL_LAKE={quote(str(home.settings.lake))} {quote(str(envmill))} sql "
        "'select * from failures'"
    )
