"""Columns of an exported table: the meaning of each and how to compute it from a row. The Parquet
files and the documentation are made from the same list."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)

import io
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import IO, Any, Generic, Literal, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq

from schemas.base import Json, canonical_json

T = TypeVar("T")
U = TypeVar("U")
GROUP = 2048  # rows of a group: a conversation has some 20 KB, and ten times as much while it is written
ColumnType = Literal[
    "string", "json", "int64", "double", "list<bool>", "list<int32>", "list<double>", "list<string>"
]

_TYPES: dict[ColumnType, pa.DataType] = {
    "string": pa.string(),
    "json": pa.string(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "list<bool>": pa.list_(pa.bool_()),
    "list<int32>": pa.list_(pa.int32()),
    "list<double>": pa.list_(pa.float64()),
    "list<string>": pa.list_(pa.string()),
}


@dataclass(frozen=True)
class ExportColumn(Generic[T]):
    """One column."""

    name: str
    type: ColumnType
    """Type of its values. `json` is a string that holds JSON: readers add missing fields to nested
    columns of unequal shape."""
    meaning: str
    tell: Callable[[T], Json]


def join_columns(
    first: Sequence[ExportColumn[T]], second: Sequence[ExportColumn[U]]
) -> list[ExportColumn[tuple[T, U]]]:
    """Columns of a row that is made of two records."""

    def left(column: ExportColumn[T]) -> ExportColumn[tuple[T, U]]:
        return ExportColumn(
            column.name, column.type, column.meaning, lambda row: column.tell(row[0])
        )

    def right(column: ExportColumn[U]) -> ExportColumn[tuple[T, U]]:
        return ExportColumn(
            column.name, column.type, column.meaning, lambda row: column.tell(row[1])
        )

    return [*map(left, first), *map(right, second)]


def describe_row(columns: Sequence[ExportColumn[T]], row: T) -> dict[str, Json]:
    """A row as JSON."""
    return {column.name: column.tell(row) for column in columns}


def write_parquet(columns: Sequence[ExportColumn[T]], rows: Iterable[T]) -> bytes:
    """A Parquet file; the same rows give the same bytes. Without rows, the file has only the
    columns."""
    sink = io.BytesIO()
    stream_parquet(columns, rows, sink)
    return sink.getvalue()


def stream_parquet(columns: Sequence[ExportColumn[T]], rows: Iterable[T], sink: IO[bytes]) -> None:
    """Write a Parquet file while the rows are read. One row group is held in memory."""
    schema = pa.schema([pa.field(column.name, _TYPES[column.type]) for column in columns])
    left, first = iter(rows), True
    with pq.ParquetWriter(sink, schema, compression="zstd") as writer:
        while (part := [*islice(left, GROUP)]) or first:
            data = {column.name: [_render(column, row) for row in part] for column in columns}
            writer.write_table(pa.table(data, schema=schema))
            first = False
            part.clear()  # before the next rows are read
            data.clear()


def _render(column: ExportColumn[T], row: T) -> Any:
    value = column.tell(row)
    return canonical_json(value) if column.type == "json" else value
