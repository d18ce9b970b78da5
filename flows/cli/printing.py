"""What commands print. Texts of models and people are shown and never obeyed: what would steer a
terminal is escaped."""

import json

import typer

from flows.cli.telling import make_plain


def print_text(text: str = "", *, err: bool = False, nl: bool = True) -> None:
    """Print a text for people."""
    typer.echo(make_plain(text), err=err, nl=nl)


def print_as_json(text: str, *, nl: bool = True) -> None:
    """Print JSON for programs: the same values, with escapes for what a terminal would obey."""
    typer.echo(
        "".join(
            sign if sign.isprintable() or sign == "\n" else json.dumps(sign)[1:-1] for sign in text
        ),
        nl=nl,
    )
