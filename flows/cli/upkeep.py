"""`compact`, `doctor`: the lake in few files, and whether this machine can do the work."""

from typing import Annotated

import typer

from flows.cli.printing import print_text


def compact(
    context: typer.Context,
    run: Annotated[
        str | None, typer.Argument(help="Run id, or the beginning of one; every run when left out.")
    ] = None,
    grace: Annotated[
        float,
        typer.Option(
            min=0, help="Seconds that replaced files stay for readers that listed them before."
        ),
    ] = 3600.0,
) -> None:
    """Merge each run's many files into few, store the rows of views for finished runs, and remove files that were replaced long ago.

    A lake on local disk also gets `views.sql`, the views for a DuckDB shell: `duckdb -init
    LAKE/views.sql`.
    It is safe at any time, also while runs write. If it is killed halfway, nothing has changed.
    """
    from envmill.lake.compaction import compact as compact_run
    from envmill.lake.lake import Lake
    from envmill.lake.views import VIEWS
    from envmill.lake.views.shell import keep_sql
    from flows.cli.question import find_run
    from flows.cli.table import show

    lake = Lake(context.obj.settings.lake)
    done = [
        compact_run(lake, one, grace=grace)
        for one in ([find_run(context.obj, run)] if run else lake.runs())
    ]
    if done and "://" not in lake.url:
        keep_sql(lake.url, VIEWS)
    show(
        ["run", "replaced", "added", "deleted", "rollups"],
        [(one.run, one.replaced, one.added, one.deleted, one.rollups) for one in done],
    )


def doctor(context: typer.Context) -> None:
    """Check what EnvMill needs of this machine, one line each: `ok`, or `short` with what to do. Exits with 1 when a line is short."""
    from flows.cli.examination import examine

    short = 0
    for finding in examine(context.obj):
        short += not finding.ok
        print_text(f"{'ok   ' if finding.ok else 'short'}  {finding.what:<10} {finding.seen}")
        if finding.mend:
            print_text(f"       {'':<10} → {finding.mend}")
    if short:
        raise typer.Exit(1)
