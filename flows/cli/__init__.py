"""`envmill`: the command line. One file per group of commands, one table of them all.

Modules named here are light; what is heavy they import when a command runs, so that `--help` stays
quick.
"""

import inspect
import os
import sys
from collections.abc import Callable, Container
from typing import Annotated, Any

import typer

from envmill.base.errors import EnvMillError, Refused, SettingsError
from flows.cli import (
    audit,
    base,
    batches,
    calibration,
    catalog,
    demo,
    estimate,
    export,
    foreign,
    harbor,
    lock,
    mcp,
    models,
    names,
    play,
    prompt,
    protect,
    query,
    recall,
    record,
    report,
    rescore,
    review,
    rollout,
    run,
    serve,
    server,
    tools,
    upkeep,
    users,
    verify,
)
from flows.cli.options import complete
from flows.cli.printing import print_text
from flows.local.errors import NoServer
from flows.local.home import Home

COMMANDS: tuple[Callable[..., Any], ...] = (
    server.up,
    server.open_,
    server.down,
    server.status,
    run.run,
    estimate.estimate,
    models.models,
    query.funnel,
    query.failures,
    query.cost,
    query.sql,
    names.names,
    catalog.tables,
    catalog.views,
    record.show,
    prompt.prompt,
    batches.batches,
    play.play,
    play.replay,
    mcp.mcp,
    serve.serve,
    rollout.rollout,
    users.users,
    rescore.rescore,
    audit.audit,
    calibration.calibrate,
    protect.protect,
    review.review,
    export.export,
    lock.lock,
    lock.rebuild,
    lock.diff,
    recall.recall,
    verify.verify,
    report.report,
    foreign.import_,
    harbor.validate,
    harbor.grade,
    tools.tools,
    base.base,
    upkeep.compact,
    upkeep.doctor,
    demo.demo,
)

EXIT_CODES: dict[type[EnvMillError], int] = {SettingsError: 2, NoServer: 3, Refused: 4}
"""Any other error exits with 1."""

EPILOG = (
    "Exit codes: 0 done; 1 failed; 2 wrong usage, setting or question; 3 no server; 4 a question "
    "refused by the lock or a limit; "
    "130 interrupted."
)


def make_app(words: Container[str] | None = None) -> typer.Typer:
    """The program. Given the words of a command line, only the commands among them get the options
    that are loaded from records."""
    app = typer.Typer(
        name="envmill",
        help="A data factory that manufactures executable, verified environments for training LLM "
        "agents.",
        epilog=EPILOG,
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_read_settings)
    for command in COMMANDS:
        app.command(help=_unwrap(command.__doc__ or ""))(complete(command, words))
    return app


def _unwrap(docstring: str) -> str:
    """The paragraphs of a docstring, a line each."""
    paragraphs = inspect.cleandoc(docstring).split("\n\n")
    return "\n\n".join(" ".join(one.split()) for one in paragraphs)


def _read_settings(
    context: typer.Context,
    trust: Annotated[
        bool,
        typer.Option(
            "--trust-generated-code",
            help="Run generated code even where this machine cannot confine it "
            "(ENVMILL_TRUST_GENERATED_CODE=1).",
        ),
    ] = False,
    diagnose: Annotated[
        bool,
        typer.Option(
            "--diagnose-denials",
            help="Name the system calls that programs are denied; slower "
            "(ENVMILL_DIAGNOSE_DENIALS=1).",
        ),
    ] = False,
) -> None:
    said = {"ENVMILL_TRUST_GENERATED_CODE": trust, "ENVMILL_DIAGNOSE_DENIALS": diagnose}
    context.obj = Home.read({**os.environ, **{name: "1" for name, on in said.items() if on}})


def main() -> None:
    try:
        make_app(sys.argv[1:])()
    except EnvMillError as error:
        print_text(error.message, err=True)
        sys.exit(next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), 1))
