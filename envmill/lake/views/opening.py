"""A database over the lake: tables and views in memory, rows in the lake's files, everything else
locked away.

files of all runs       ─► main.<table>
files of fresh runs     ─► live.<table> ─► live.<view> ─┐
rollups of settled runs ────────────────────────────────┴─► main.<view>

Without rollups the views stand on the tables of all runs, and there is no `live`. Only what the
question needs is made.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types; duckdb takes and gives Python values of any type)

from collections.abc import Iterable, Mapping, Sequence, Set

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from envmill.base.errors import LakeError
from envmill.lake.lake import Lake
from envmill.lake.reading import describe_gone, read_file
from envmill.lake.rollup import find_rollups
from envmill.lake.settled import find_settled
from envmill.lake.snapshot import FileSnapshot
from envmill.lake.views.base import View
from envmill.lake.views.needed import Needed, find_needed
from envmill.lake.views.source import quote, read_files, select_rows
from schemas.base import Record
from schemas.quality import Quarantine
from schemas.shapes import PAST, version_of
from schemas.tables import TABLES

# a file that went between listing and opening was merged; the next listing names its successor
_TRIES = 2


def connect(
    lake: Lake, views: Mapping[str, View], runs: Sequence[str], memory: str, question: str = ""
) -> DuckDBPyConnection:
    """Open the runs' files, or say which file is in the way."""
    failure, needed = None, find_needed(question, views)
    sqls = {name: view.sql for name, view in views.items()}
    for number in range(_TRIES):
        settled = {} if number else find_settled(lake, runs, sqls, needed.below)
        snapshots = [
            settled[run].snapshot if run in settled else lake.snapshot(run) for run in runs
        ]
        rolled = {
            snapshot.run: found
            for snapshot in snapshots
            if (
                found := settled[snapshot.run].rollups
                if snapshot.run in settled
                else find_rollups(lake, snapshot, sqls)
            )
        }
        connection = duckdb.connect()
        try:
            _prepare(connection, lake, views, snapshots, rolled, needed)
            _lock(connection, lake.url, memory)
            return connection
        except duckdb.Error as error:
            connection.close()
            failure = error
    check_files(lake, runs)
    raise LakeError(f"{lake.url} cannot be opened for questions: {failure}") from failure


def check_files(lake: Lake, runs: Iterable[str]) -> None:
    """Raise for the first file that counts and is gone, damaged or of a foreign shape."""
    for run in runs:
        for table, entries in lake.snapshot(run).files.items():
            for entry in entries:
                try:
                    read_file(lake.store, entry.name, TABLES[table], [])
                except FileNotFoundError as error:
                    raise describe_gone(lake.store, error, run) from error


def _prepare(
    connection: DuckDBPyConnection,
    lake: Lake,
    views: Mapping[str, View],
    snapshots: Sequence[FileSnapshot],
    rolled: Mapping[str, Mapping[str, str]],
    needed: Needed,
) -> None:
    fresh = [snapshot for snapshot in snapshots if snapshot.run not in rolled]
    connection.execute(
        "set python_enable_replacements = false; set temp_directory = ''; set enable_progress_bar "
        "= false"
    )
    connection.execute(
        "set parquet_metadata_cache = true; create schema live"
    )  # files never change: a footer is read once
    if filesystem := getattr(lake.store, "filesystem", None):
        connection.register_filesystem(filesystem)
    shown = needed.named if rolled else needed.below
    _create_tables(connection, lake, "main", snapshots, shown)
    if rolled and fresh:
        _create_tables(connection, lake, "live", fresh, needed.below)
    for view in (view for view in views.values() if view.name in needed.below):
        rollups = [found[view.name] for found in rolled.values()]
        if rollups and fresh:
            connection.execute(f'create view live."{view.name}" as {view.sql}')
        if view.name in shown:
            _create_view(connection, view, rollups, bool(fresh))


def _create_tables(
    connection: DuckDBPyConnection,
    lake: Lake,
    schema: str,
    snapshots: Sequence[FileSnapshot],
    wanted: Set[str],
) -> None:
    aside = _create_aside(connection, lake, schema, snapshots)
    for table in TABLES.keys() & wanted:
        sources = _find_sources(connection, lake, schema, snapshots, table)
        left_out = f"{schema}_aside" if table in aside else ""
        connection.execute(
            f'create view {schema}."{table}" as {select_rows(TABLES[table], sources, left_out)}'
        )


def _create_aside(
    connection: DuckDBPyConnection, lake: Lake, schema: str, snapshots: Sequence[FileSnapshot]
) -> set[str]:
    """Tables that rows of were set aside; what says which costs nothing where none were."""
    if not any(snapshot.files["quarantine"] for snapshot in snapshots):
        return set()
    rows = select_rows(Quarantine, _find_sources(connection, lake, schema, snapshots, "quarantine"))
    connection.execute(
        f'create table {schema}_aside as select run, table_name, "row" from ({rows})'
    )
    return {
        table
        for (table,) in connection.execute(
            f"select distinct table_name from {schema}_aside"
        ).fetchall()
    }


def _find_sources(
    connection: DuckDBPyConnection,
    lake: Lake,
    schema: str,
    snapshots: Sequence[FileSnapshot],
    table: str,
) -> list[str]:
    """Relations that hold a table's rows, those of older versions upgraded."""
    record, names = (
        TABLES[table],
        [entry.name for snapshot in snapshots for entry in snapshot.files[table]],
    )
    past = find_past(connection, lake, record, names)
    present = [lake.store.locate(name) for name in names if name not in past]
    sources = [read_files(present)] if present else []
    if past:
        sources.append(f"{schema}_past_{table}")
        connection.register(
            sources[-1], pa.concat_tables([read_file(lake.store, name, record) for name in past])
        )
    return sources


def find_past(
    connection: DuckDBPyConnection, lake: Lake, record: type[Record], names: Sequence[str]
) -> list[str]:
    """Files of older versions. Footers are read only where a table ever had one: of 400 files they
    take as long as an answer."""
    if not names or not any(table == record.table for table, _ in PAST):
        return []
    located = {lake.store.locate(name): name for name in names}
    listed = ", ".join(map(quote, located))
    found = connection.execute(
        f"select file_name, value::varchar from parquet_kv_metadata([{listed}]) where "
        "key::varchar = 'schema_version'"
    ).fetchall()
    return sorted(located[place] for place, version in found if int(version) < version_of(record))


def _create_view(
    connection: DuckDBPyConnection, view: View, rollups: Sequence[str], fresh: bool
) -> None:
    sources = [read_files(rollups)] if rollups else []
    if rollups and fresh:
        sources.append(f'live."{view.name}"')
    columns = ", ".join(view.columns)
    rows = " union all ".join(
        f"select {columns} from {source}" for source in sources or [f"({view.sql})"]
    )
    connection.execute(
        f'create view main."{view.name}" as {rows}{f" order by {view.order}" if view.order else ""}'
    )


def _lock(connection: DuckDBPyConnection, url: str, memory: str) -> None:
    """From here on the connection reads the lake, writes nothing, and cannot be told otherwise.

    The folder is named, not its files: naming 400 files takes as long as asking them.
    """
    if memory:
        connection.execute(f"set memory_limit = {quote(memory)}")
    connection.execute(f"set allowed_directories = [{quote(url)}]")
    connection.execute("set enable_external_access = false")
    connection.execute("set lock_configuration = true")
