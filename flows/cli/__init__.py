"""`envmill`: the command line. One file per group of commands, one table of them all.

Modules named here are light; what is heavy they import when a command runs, so that `--help` stays quick.
"""

import os
import sys
from collections.abc import Callable
from typing import Any

import typer

from envmill.errors import EnvMillError, SettingsError
from flows.cli import demo, query, run, server
from flows.local.errors import NoServer
from flows.local.home import Home

COMMANDS: tuple[Callable[..., Any], ...] = (
    server.up,
    server.down,
    server.status,
    run.run,
    query.funnel,
    query.sql,
    demo.demo,
)

EXIT_CODES: dict[type[EnvMillError], int] = {SettingsError: 2, NoServer: 3}
"""Any other error exits with 1."""


def make_app() -> typer.Typer:
    app = typer.Typer(
        name="envmill",
        help="A data factory that manufactures executable, verified environments for training LLM agents.",
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
