"""`up`, `down`, `status`: the local Prefect server and its worker."""

import sys
from typing import Annotated, Any, Literal

import typer

from flows.cli.printing import print_text
from flows.local.home import Home

_SCRIPTED = """
    select run from runs
    where provider not in ('offline', 'replay') and (config ->> 'probe' <> 'model' or config ->> 'teacher' <> 'model')
"""
"""Runs in which a model wrote the environments and scripts acted."""


def up(
    context: typer.Context,
    check: Annotated[
        bool,
        typer.Option(
            "--check",
            help="Start nothing. Print what runs and what does not. Exits with 1 if something does not run.",
        ),
    ] = False,
    service: Annotated[
        bool,
        typer.Option(
            "--service",
            help="Start nothing. Write a unit file with which systemd keeps this home running.",
        ),
    ] = False,
    remote: Annotated[
        bool,
        typer.Option("--remote", help="Use the server that PREFECT_API_URL names, and start none."),
    ] = False,
    profile: Annotated[
        Literal["process", "docker"] | None,
        typer.Option(
            help="How a flow run is started: as a process of this machine, or as a Docker container. Stored until it is changed."
        ),
    ] = None,
    stay: Annotated[
        bool,
        typer.Option(
            "--stay",
            help="Do not return. SIGTERM or Ctrl-C stops everything. For containers.",
        ),
    ] = False,
) -> None:
    """Start the local Prefect server, worker and watchdog, and deploy prefect.yaml. What already
    runs is left alone."""
    from flows.local.service import bring_up, make_link, read_named

    if check:
        raise typer.Exit(_check(context.obj))
    if service:
        _write_unit(context.obj)
        return
    url = bring_up(context.obj, print_text, read_named(context.obj) if remote else "", profile)
    print_text(f"ready: {url}, for `envmill run`; `envmill open` logs a browser in")
    if (
        not remote and sys.stdout.isatty()
    ):  # the journal of a service and the log of a container are read by others
        print_text(f"log in with {make_link(context.obj)} (works once, for ten minutes)")
    if stay:
        from flows.local.staying import stay as stay_up

        stay_up(context.obj, print_text)


def _check(home: Home) -> int:
    from flows.local.checking import check

    short = 0
    for part in check(home):
        short += bool(part.mend)
        print_text(
            f"{'short' if part.mend else 'ok   '}  {part.name:<12} {part.seen}"
            + (f"\n       → {part.mend}" if part.mend else "")
        )
    return min(short, 1)


def _write_unit(home: Home) -> None:
    from flows.local.unit import write_unit

    path, commands = write_unit(home)
    print_text(
        f"wrote {path}. Keys and ENVMILL_DATABASE go into {home.folder}/environment, one "
        "NAME=value a line, readable by you alone. Then:"
    )
    for command in commands:
        print_text(f"  {command}")


def open_(
    context: typer.Context,
    browser: Annotated[
        bool, typer.Option("--browser", help="Also open it in this machine's browser.")
    ] = False,
) -> None:
    """Print a link that logs a browser in to the local server: it works once, for ten minutes, and
    the login lasts a day."""
    from flows.local.service import make_link

    link = make_link(context.obj)
    print_text(link)
    if browser:
        _open_browser(context.obj, link)


open_.__name__ = "open"  # a function of Python's


def _open_browser(home: Home, link: str) -> None:
    """By a page on the disk: other users see the arguments of a browser's process."""
    import html
    import webbrowser

    from flows.local.private import write_private

    page = home.folder / "open.html"
    write_private(
        page, f'<!doctype html><meta http-equiv="refresh" content="0; url={html.escape(link)}">'
    )
    webbrowser.open(page.as_uri())


def down(context: typer.Context) -> None:
    """Stop the local watchdog, worker and server. Runs that are cut off can be retried later."""
    from flows.local.service import bring_down

    bring_down(context.obj, print_text)


def status(context: typer.Context) -> None:
    """Show what runs, and the latest runs as Prefect and as the lake know them."""
    from flows.local.errors import NoServer
    from flows.local.process import Process
    from flows.local.service import find_server

    home: Home = context.obj
    print_text(f"home: {home.folder}")
    for name in ("server", "worker", "watchdog"):
        process = Process(home, name)
        record = process.running()
        stale = " (a stale record is left; `envmill up` clears it)" if process.path.exists() else ""
        print_text(
            f"{name}: {record.url}, pid {record.pid}" if record else f"{name}: not running{stale}"
        )
    try:
        _show_flow_runs(home, find_server(home))
    except NoServer as error:
        print_text(error.message)
    _show_lake(home)


def _show_flow_runs(home: Home, url: str) -> None:
    from flows.local.api import connect
    from flows.local.pools import read_profile

    past = {"type": {"not_any_": ["SCHEDULED"]}}
    top = {"is_null_": True}  # a step inside a factory run is not a run of its own
    with connect(home, url) as api:
        found = api.post(
            "/flow_runs/filter",
            {
                "limit": 10,
                "sort": "EXPECTED_START_TIME_DESC",
                "flow_runs": {"state": past, "parent_task_run_id": top},
            },
        )
        online: list[Any] = api.post(
            f"/work_pools/{read_profile(home).pool}/workers/filter",
            {"workers": {"status": {"any_": ["ONLINE"]}}},
        )
    print_text(f"work pool: {len(online)} worker(s) online")
    print_text("latest runs in Prefect:" if found else "latest runs in Prefect: none")
    for flow_run in found:
        print_text(
            f"  {flow_run['expected_start_time'][:19]}  {flow_run['state_name']:<18}  "
            f"{flow_run['id']}  {flow_run['name']}"
        )


def _show_lake(home: Home) -> None:
    from flows.cli.question import ask

    runs = ask(home, "select run, started, state from runs order by started desc limit 10")[1]
    scripted = {run for (run,) in ask(home, _SCRIPTED)[1]}
    print_text(f"lake: {home.settings.lake}")
    print_text("latest runs in the lake:" if runs else "latest runs in the lake: none")
    for run, started, state in runs:
        told = "  scripts judge a model's work" if run in scripted else ""
        print_text(f"  {started[:19]}  {state:<18}  {run}{told}")
