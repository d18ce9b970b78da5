"""`report`: a run as a folder of pages that any browser opens from the disk."""

import asyncio
from pathlib import Path
from typing import Annotated, Any

import typer

from envmill.report.place import SAMPLE, find_place
from flows.cli.printing import print_text
from flows.cli.query import Run
from flows.local.home import Home


def report(
    context: typer.Context,
    run: Run = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Folder to write; reports/RUN beside the bundles when left out."),
    ] = None,
    every: Annotated[
        bool, typer.Option("--all", help="Show every turn of every attempt, not only of a sample.")
    ] = False,
    sample: Annotated[
        int,
        typer.Option(
            min=0,
            help="How many attempts show every turn: some of each outcome, policy and environment.",
        ),
    ] = SAMPLE,
    replay: Annotated[
        bool,
        typer.Option(
            help="Play the sampled attempts again in the jail, to show what each call changed."
        ),
    ] = True,
) -> None:
    """Write a report of a run: what it yielded and cost, what was dropped and why, and every row behind each number.

    Open its index.html from the disk: it needs no server and loads nothing from the network. An existing report is replaced.
    """
    from flows.cli.question import find_run

    describe_report(context.obj, find_run(context.obj, run), out, None if every else sample, replay)


def describe_report(
    home: Home,
    run: str,
    out: Path | None = None,
    attempts: int | None = SAMPLE,
    replay: bool = True,
) -> None:
    """Write it and say where it is."""
    written = asyncio.run(
        _write(home, run, out or find_place(home.settings.bundles, run), attempts, replay)
    )
    _write_docs(home, run, written.folder / "quality")
    turns = "all" if written.shown == written.attempts else f"{written.shown} of {written.attempts}"
    print_text(
        f"{written.folder / 'index.html'} ({written.records} records, turns of {turns} attempts)"
    )


async def _write(home: Home, run: str, folder: Path, attempts: int | None, replay: bool) -> Any:
    from envmill.base.errors import SandboxError
    from envmill.kinds import open_sandbox
    from envmill.lake.lake import Lake
    from envmill.report.folder import write_report

    lake = Lake(home.settings.lake)
    if not replay:
        return await write_report(lake, run, folder, attempts)
    try:
        async with open_sandbox(home.settings, drivers=1) as sandbox:
            return await write_report(lake, run, folder, attempts, sandbox)
    except SandboxError as error:
        print_text(f"{error.message} Attempts are shown without what each call changed.", err=True)
        return await write_report(lake, run, folder, attempts)


def _write_docs(home: Home, run: str, folder: Path) -> None:
    """Data Docs of what the night was expected to be; none where it has not come to be judged."""
    from envmill.lake.lake import Lake
    from envmill.lake.views import open_views
    from quality.nights.judging import write_night

    with open_views(
        Lake(home.settings.lake)
    ) as connection:  # its environments may be those of another run
        write_night(connection, run, folder)
