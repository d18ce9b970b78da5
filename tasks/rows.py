"""Rows of a run for judging: everything as it was written, attempts and duplicates included."""

# pyright: reportUnknownMemberType=false, reportMissingTypeStubs=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (duckdb and pyarrow ship loose types)

import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa

from envmill.base.errors import LakeError
from envmill.lake.lake import Lake
from envmill.lake.reading import read_file
from envmill.lake.views.opening import check_files, find_past
from envmill.lake.views.source import column_types, quote, read_files
from schemas.base import Record
from schemas.tables import TABLES

MEMORY = "1GB"
"""Of a database that judges a run's rows; what it needs beyond that is spilled to disk."""


@contextmanager
def open_rows(lake: Lake, run: str) -> Generator[duckdb.DuckDBPyConnection]:
    """A connection with `raw_<table>` for every table, as of one moment. A file in the way is
    named."""
    with duckdb.connect() as connection:
        try:
            _prepare(connection, lake, run)
            yield connection
        except duckdb.Error as error:
            check_files(lake, [run])
            raise LakeError(
                f"Run {run} of {lake.url} cannot be judged ({error}). Retry: a file may have been "
                "merged meanwhile."
            ) from error


def _prepare(connection: duckdb.DuckDBPyConnection, lake: Lake, run: str) -> None:
    spill = quote(
        f"{tempfile.gettempdir()}/envmill-quality"
    )  # by default it would be a folder in the checkout
    connection.execute(f"set memory_limit = {quote(MEMORY)}")
    connection.execute(
        "set python_enable_replacements = false; set preserve_insertion_order = false; set "
        f"temp_directory = {spill}"
    )
    kept = "view"
    if filesystem := getattr(lake.store, "filesystem", None):
        connection.register_filesystem(filesystem)
        kept = "table"  # promises look at a row many times; over a network it is fetched once
    snapshot = lake.snapshot(run)
    for table, record in TABLES.items():
        source = _open_table(
            connection, lake, record, [entry.name for entry in snapshot.files[table]]
        )
        columns = ", ".join(
            f"{name}::{kind} as {name}" for name, kind in column_types(record).items()
        )
        connection.execute(f"create {kept} raw_{table} as select {columns} from {source}")


def _open_table(
    connection: duckdb.DuckDBPyConnection, lake: Lake, record: type[Record], names: Sequence[str]
) -> str:
    """A relation. Files of an older shape are read whole and upgraded, the others by DuckDB, column
    by column."""
    if not names:
        nulls = ", ".join(f"null::{kind} as {name}" for name, kind in column_types(record).items())
        return f"(select {nulls} where false)"
    past = find_past(connection, lake, record, names)
    present = [lake.store.locate(name) for name in names if name not in past]
    sources = [read_files(present)] if present else []
    if past:
        connection.register(
            "upgraded", pa.concat_tables([read_file(lake.store, name, record) for name in past])
        )
        connection.execute(
            f"create table past_{record.table} as from upgraded"
        )  # a registered relation is seen by one cursor only
        sources.append(f"past_{record.table}")
    columns = ", ".join(column_types(record))
    return f"({' union all '.join(f'select {columns} from {source}' for source in sources)})"
