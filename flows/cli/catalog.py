"""`tables`, `views`: what the lake holds, and what each column means."""

import json
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer

from flows.cli.printing import print_as_json, print_text
from flows.local.home import Home

Name = Annotated[str | None, typer.Argument(help="Table or view to describe.")]


def tables(
    context: typer.Context,
    name: Name = None,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="The records as JSON Schema.")
    ] = False,
) -> None:
    """List the lake's tables with rows, runs and bytes; with NAME, the table's columns and their meanings."""
    from flows.cli.table import show
    from schemas.tables import TABLES

    chosen = pick(TABLES, name, "table") if name else dict(TABLES)
    if json_schema:
        schemas = {table: record.model_json_schema() for table, record in chosen.items()}
        print_as_json(json.dumps(schemas[name] if name else schemas, indent=2, ensure_ascii=False))
    elif name:
        show(["column", "type", "may be null", "meaning"], list(_describe_table(name)))
    else:
        show(["table", "rows", "runs", "files", "bytes", "holds"], list(_count_tables(context.obj)))


def views(
    context: typer.Context,
    name: Name = None,
    sql: Annotated[
        bool,
        typer.Option(
            "--sql", help="SQL that gives a DuckDB shell without EnvMill the same tables and views."
        ),
    ] = False,
) -> None:
    """List the views and their meanings; with NAME, the view's columns and example queries."""
    from envmill.lake.views import VIEWS
    from flows.cli.table import show

    chosen = pick(VIEWS, name, "view") if name else VIEWS
    if sql:
        return print_text(_write_shell(context.obj))
    if not name:
        return show(
            ["view", "says"],
            [(view.name, view.about.replace("\n", " ")) for view in chosen.values()],
        )
    show(["column", "meaning"], list(chosen[name].columns.items()))
    for title, question in chosen[name].questions:
        print_text(f"\n# {title}\n{question}")
    return None


def pick(known: Mapping[str, Any], name: str, what: str) -> dict[str, Any]:
    """The one that is named, or an error that lists all."""
    from envmill.base.errors import SettingsError

    if name not in known:
        raise SettingsError(f"There is no {what} {name}. Known: {', '.join(known)}.")
    return {name: known[name]}


def _describe_table(name: str) -> Iterator[tuple[str, ...]]:
    from envmill.lake.views.source import STAMP, column_types
    from schemas.shapes import shape_of
    from schemas.tables import TABLES

    own = {column.name: column for column in shape_of(TABLES[name])}
    for column, kind in column_types(TABLES[name]).items():
        if column in own:
            found = own[column]
            yield (
                column,
                "JSON" if found.type == "json" else kind,
                "yes" if found.nullable else "no",
                found.description,
            )
        else:
            yield column, kind, "no", STAMP_MEANINGS[column]
    assert STAMP_MEANINGS.keys() == STAMP.keys()


STAMP_MEANINGS = {
    "run": "Run that wrote the row; with `id` the key of every table.",
    "step": "Step that wrote it.",
    "fingerprint": "What the step's outcome depends on, hashed: rows of another fingerprint are another "
    "config's work.",
    "bucket": "Number of the bucket: the part of the step's subjects that was saved together.",
    "try_number": "Attempt at the bucket; of a row written twice the latest counts.",
    "code_version": "Version of EnvMill.",
    "written_at": "Wall-clock time, ISO 8601 UTC.",
}


def _count_tables(home: Home) -> Iterator[tuple[Any, ...]]:
    from envmill.lake.lake import Lake
    from envmill.lake.sql import open_lake
    from schemas.tables import TABLES

    lake = Lake(home.settings.lake)
    snapshots = [lake.snapshot(run) for run in lake.runs()]
    with open_lake(lake) as connection:
        for table, record in TABLES.items():
            held = [entry for snapshot in snapshots for entry in snapshot.files[table]]
            ((rows, runs),) = connection.execute(
                f"select count(*), count(distinct run) from {table}"
            ).fetchall()
            yield (
                table,
                rows,
                runs,
                len(held),
                sum(entry.size for entry in held),
                " ".join((record.__doc__ or "").partition("\n\n")[0].split()),
            )


def _write_shell(home: Home) -> str:
    from envmill.base.errors import SettingsError
    from envmill.lake.views import VIEWS
    from envmill.lake.views.shell import write_sql

    if "://" in home.settings.lake:
        raise SettingsError(
            f"views.sql reads a lake on local disk; this one is {home.settings.lake}. Copy it, or "
            "use `envmill sql`."
        )
    return write_sql(home.settings.lake, VIEWS)
