"""A table on the terminal: drawn for people, tab-separated for programs."""

import re
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from flows.cli.printing import print_text
from flows.cli.telling import make_plain

_CONTROLS = re.compile("[\x00-\x1f\x7f-\x9f]")


def show(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    """Lines when the output is a pipe or a file, so that `cut` and `sort` work on it."""
    if sys.stdout.isatty():
        _draw(columns, rows)
    else:
        for row in [columns, *rows]:
            print_text("\t".join(render_on_one_line(value) for value in row))


def _draw(columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    table = Table(*columns)
    for row in rows:
        table.add_row(
            *(
                escape(f"{value:.4g}" if isinstance(value, float) else make_plain(render(value)))
                for value in row
            )
        )
    Console().print(table)


def render(value: Any) -> str:
    """A null is nothing."""
    return "" if value is None else str(value)


def render_on_one_line(value: Any) -> str:
    """Tabs, line breaks and whatever else steers a terminal as `\\t`, `\\n`, `\\x1b`, so that a row
    stays a line."""
    return _CONTROLS.sub(lambda found: repr(found[0])[1:-1], render(value).replace("\\", "\\\\"))
