"""A table on the terminal: drawn for people, tab-separated for programs."""

import sys
from collections.abc import Sequence
from typing import Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table


def show(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Lines when the output is a pipe or a file, so that `cut` and `sort` work on it."""
    if sys.stdout.isatty():
        _draw(columns, rows)
    else:
        for row in [columns, *rows]:
            typer.echo("\t".join(spell_on_one_line(value) for value in row))


def _draw(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(*(escape(f"{value:.4g}" if isinstance(value, float) else spell(value)) for value in row))
    Console().print(table)


def spell(value: Any) -> str:
    """A null is nothing."""
    return "" if value is None else str(value)


def spell_on_one_line(value: Any) -> str:
    """Tabs and line breaks as `\\t` and `\\n`, so that a row stays a line."""
    return spell(value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n").replace("\r", "\\r")
