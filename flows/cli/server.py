"""`up`, `down`, `status`: the local Prefect server and its worker."""

from typing import Any

import typer

from flows.local.home import Home


def up(context: typer.Context) -> None:
    """Start the local Prefect server and worker, and deploy prefect.yaml. What already runs is left alone."""
    from flows.local.service import bring_up

    url = bring_up(context.obj, typer.echo)
    typer.echo(f"ready: open {url} or start a run with `envmill run`")


def down(context: typer.Context) -> None:
    """Stop the local worker and server. Runs that are cut off can be retried later."""
    from flows.local.service import bring_down

    bring_down(context.obj, typer.echo)


def status(context: typer.Context) -> None:
    """Show what runs, and the latest runs as Prefect and as the lake know them."""
    from flows.local.process import Process

    home: Home = context.obj
    typer.echo(f"home: {home.folder}")
    for name in ("server", "worker", "watchdog"):
        process = Process(home, name)
        record = process.running()
        stale = " (a stale record is left; `envmill up` clears it)" if process.path.exists() else ""
        typer.echo(f"{name}: {record.url}, pid {record.pid}" if record else f"{name}: not running{stale}")
    if record := Process(home, "server").running():
        _show_flow_runs(record.url)
    _show_lake(home)


def _show_flow_runs(url: str) -> None:
    from flows.local.api import Api

    past = {"type": {"not_any_": ["SCHEDULED"]}}
    top = {"is_null_": True}  # a step inside a factory run is not a run of its own
    with Api(url) as api:
        found = api.post(
            "/flow_runs/filter",
            {"limit": 10, "sort": "EXPECTED_START_TIME_DESC", "flow_runs": {"state": past, "parent_task_run_id": top}},
        )
        online: list[Any] = api.post("/work_pools/envmill/workers/filter", {"workers": {"status": {"any_": ["ONLINE"]}}})
    typer.echo(f"work pool: {len(online)} worker(s) online")
    typer.echo("latest runs in Prefect:" if found else "latest runs in Prefect: none")
    for flow_run in found:
        typer.echo(f"  {flow_run['expected_start_time'][:19]}  {flow_run['state_name']:<18}  {flow_run['id']}  {flow_run['name']}")


def _show_lake(home: Home) -> None:
    from flows.cli.question import ask

    runs = ask(home, "select run, started, state from runs order by started desc limit 10")[1]
    typer.echo(f"lake: {home.settings.lake}")
    typer.echo("latest runs in the lake:" if runs else "latest runs in the lake: none")
    for run, started, state in runs:
        typer.echo(f"  {started[:19]}  {state:<18}  {run}")
