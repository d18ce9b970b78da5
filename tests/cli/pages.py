"""The command line as documentation: `python -m tests.cli.pages > docs/cli.md`."""

import sys
from collections.abc import Iterator

import typer

from flows.cli import EXIT_CODES, make_app
from flows.cli.answering import MOST_ROWS
from flows.cli.bounds import GRACE

_HEAD = """# The command line

Written from the program; `make docs` renews it. Output is a table on a terminal and tab-separated lines otherwise, with tabs and
line breaks inside a value as `\\t` and `\\n`; messages go to standard error.

## Exit codes

| code | means |
|---|---|
| 0 | done |
| 1 | failed: a run that did not complete, a damaged lake, `doctor` found something short |
| 2 | wrong usage, setting or question; the message points at the place |
| 3 | no server |
| 4 | a question was refused by the lock, or cut off by a limit |
| 130 | interrupted |

## What `envmill sql` takes

One statement that only reads: SELECT (WITH, FROM, VALUES, DESCRIBE, SUMMARIZE and SHOW TABLES are of its kind), or EXPLAIN or
EXPLAIN ANALYZE of one. Refused with code 4: anything that writes, a writing WITH inside a SELECT, COPY, ATTACH, INSTALL, PRAGMA, SET,
several statements, and functions that read files (`read_…`, `glob`) or hide statements in strings (`query`). The connection itself
reaches the lake's folder only.

A question has 30 seconds (`--timeout`) and 1 GB (`--memory`); nothing spills to disk. What cannot be interrupted is ended {grace:g} s
later with its process. Tables and lines end after {rows:,} rows or 64 MB with a note on standard error; `--json`, `--csv` and
`--parquet` give every row, a part at a time, unless `--limit` says otherwise. A Parquet file is there whole or not at all.
"""


def render() -> str:
    """One section per command."""
    assert set(EXIT_CODES.values()) == {2, 3, 4}
    return _HEAD.format(grace=GRACE, rows=MOST_ROWS) + "".join(
        f"\n{section}\n" for section in _sections()
    )


def _sections() -> Iterator[str]:
    group = typer.main.get_command(make_app())
    for name, command in getattr(group, "commands", {}).items():
        yield "\n".join(_section(name, command))


def _section(name: str, command: object) -> Iterator[str]:
    params = [one for one in getattr(command, "params", []) if one.name != "help"]
    arguments = [_render_argument(one) for one in params if one.param_type_name == "argument"]
    yield f"## `{' '.join(['envmill', name, *arguments])}`"
    yield ""
    yield str(getattr(command, "help", "")).strip()
    if params:
        yield ""
        yield "| option | means |"
        yield "|---|---|"
    for one in params:
        names = " ".join(f"`{text}`" for text in (*one.opts, *one.secondary_opts))
        yield (
            f"| {names if one.param_type_name == 'option' else f'`{one.name.upper()}`'} | "
            f"{one.help} |"
        )


def _render_argument(argument: object) -> str:
    name = str(getattr(argument, "name", "")).upper()
    return name if getattr(argument, "required", False) else f"[{name}]"


if __name__ == "__main__":
    sys.stdout.write(render())
