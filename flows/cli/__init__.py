"""`envmill`: the command line. One file per group of commands, one table of them all.

Modules named here are light; what is heavy they import when a command runs, so that `--help` stays quick.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from envmill.errors import EnvMillError, Refused, SettingsError
from flows.cli import catalog, demo, query, record, run, server, upkeep
from flows.local.errors import NoServer
from flows.local.home import Home

COMMANDS: tuple[Callable[..., Any], ...] = (
    server.up,
    server.down,
    server.status,
    run.run,
    query.funnel,
    query.failures,
    query.cost,
    query.sql,
    catalog.tables,
    catalog.views,
    record.show,
    upkeep.compact,
    upkeep.doctor,
    demo.demo,
)

EXIT_CODES: dict[type[EnvMillError], int] = {SettingsError: 2, NoServer: 3, Refused: 4}
"""Any other error exits with 1."""

EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage, setting or question; 3 no server; 4 a question refused by the lock or a limit; "
    "130 interrupted."
)


def make_app() -> typer.Typer:
    app = typer.Typer(
        name="envmill",
        help="A data factory that manufactures executable, verified environments for training LLM agents.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_read_settings)
    for command in COMMANDS:
        app.command()(command)
    return app


def _read_settings(context: typer.Context) -> None:
    context.obj = Home.read(os.environ)


def main() -> None:
    try:
        make_app()()
    except EnvMillError as error:
        typer.echo(error.message, err=True)
        sys.exit(next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1))
