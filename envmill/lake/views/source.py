"""A table's rows as SQL: files in, one row per id out."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cache

from schemas.base import Record
from schemas.shapes import ColumnType, shape_of

STAMP = {
    "run": "VARCHAR",
    "step": "VARCHAR",
    "fingerprint": "VARCHAR",
    "bucket": "BIGINT",
    "try_number": "BIGINT",
    "code_version": "VARCHAR",
    "written_at": "VARCHAR",
}

_TYPES: dict[ColumnType, str] = {
    "string": "VARCHAR",
    "json": "VARCHAR",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
}

_WRITTEN_ONCE = ("attrition", "run_events", "model_calls")
"""Tables whose ids hold what makes a row happen once, attempt or journal line included. Sorting ten
million of them would find nothing."""

_WHOLE = ("attrition", "quarantine")
"""Tables nothing is left out of: a bad line of the ledger still counts its subject."""

_NEWEST = (
    "qualify row_number() over (partition by run, id order by try_number desc, bucket, "
    "fingerprint) = 1"
)


@cache
def column_types(record: type[Record]) -> Mapping[str, str]:
    """Column → SQL type, in the order of the files."""
    own = {column.name: _TYPES[column.type] for column in shape_of(record)}
    return own | {name: kind for name, kind in STAMP.items() if name not in own}


def select_rows(record: type[Record], sources: Sequence[str], aside: str = "") -> str:
    """Rows of the sources (SQL relations); of a row written twice the latest attempt counts, and
    what was set aside does not.

    Types are named, since DuckDB lets the first file decide them, and that may be the one that
    drifted. `aside` is a relation of
    quarantine rows; empty when there are none.
    """
    columns = ", ".join(f"{name}::{kind} as {name}" for name, kind in column_types(record).items())
    rows = " union all ".join(
        f"select {columns} from {source}" for source in sources
    ) or select_none(record)
    if record.table not in _WRITTEN_ONCE:
        rows = f"select * from ({rows}) {_NEWEST}"
    if not aside or record.table in _WHOLE:
        return rows
    quarantined = f"""select run, "row" as id from {aside} where table_name = '{record.table}'"""
    return f"select * from ({rows}) anti join ({quarantined}) using (run, id)"


def read_files(files: Iterable[str]) -> str:
    """Files as a relation."""
    return f"read_parquet([{', '.join(map(quote, files))}], hive_partitioning = false)"


def quote(text: str) -> str:
    """A string literal."""
    return "'" + text.replace("'", "''") + "'"


def select_none(record: type[Record]) -> str:
    """A table without rows."""
    nulls = ", ".join(f"null::{kind} as {name}" for name, kind in column_types(record).items())
    return f"select {nulls} where false"
