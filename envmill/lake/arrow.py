"""Records to Arrow and back: one fixed schema per table, heterogeneous JSON as JSON strings."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, TypeVar

import pyarrow as pa

from schemas.base import CHECKED, Record, canonical_json
from schemas.shapes import Shape, shape_of, version_of

R = TypeVar("R", bound=Record)

_TYPES: dict[str, pa.DataType] = {
    "string": pa.string(), "int64": pa.int64(), "double": pa.float64(), "bool": pa.bool_(), "json": pa.string(),
}  # fmt: skip


@dataclass(frozen=True)
class Stamp:
    """What every row carries beside its record: whose work it is. Never part of an id; a record's
    own field of the same name wins."""

    run: str
    step: str
    fingerprint: str
    bucket: int
    try_number: int
    code_version: str
    written_at: str


_STAMP = [
    pa.field(field.name, pa.int64() if field.type is int else pa.string(), nullable=False)
    for field in fields(Stamp)
]


@cache
def arrow_schema(record: type[Record]) -> pa.Schema:
    """The table's one schema; a file of any other shape is refused."""
    return make_schema(record.table, version_of(record), shape_of(record))


def make_schema(table: str, version: int, shape: Shape) -> pa.Schema:
    """A table's columns at one version, then the stamp; the file says which table and version it
    is.

    Descriptions stay out: they would be a quarter of a small batch's file, and of the time to open
    it.
    """
    columns = [pa.field(one.name, _TYPES[one.type], one.nullable) for one in shape]
    own = {one.name for one in shape}
    stamped = [field for field in _STAMP if field.name not in own]
    return pa.schema(
        [*columns, *stamped], metadata={"table": table, "schema_version": str(version)}
    )


def to_arrow(record: type[Record], rows: Sequence[Record], stamp: Stamp) -> pa.Table:
    """Rows of one table, stamped."""
    schema = arrow_schema(record)
    columns: dict[str, Any] = {
        one.name: [getattr(row, one.name) for row in rows]
        for one in shape_of(record)
        if one.type != "json"
    }
    columns |= _render_json(record, rows)
    for field in _STAMP:
        if field.name not in columns:
            columns[field.name] = pa.repeat(
                pa.scalar(getattr(stamp, field.name), field.type), len(rows)
            )
    return (
        pa.table([columns[field.name] for field in schema], schema=schema)
        if rows
        else schema.empty_table()
    )


def from_arrow(
    record: type[R], rows: Iterable[Mapping[str, Any]], checked: bool = False
) -> list[R]:
    """Records back from rows; the stamp is left behind. `checked`: the ids of these rows were compared with their content before."""
    columns = json_columns(shape_of(record))
    token = CHECKED.set(checked)
    try:
        return [
            record.model_validate(
                parse_json({name: row[name] for name in record.model_fields}, columns)
            )
            for row in rows
        ]
    finally:
        CHECKED.reset(token)


def json_columns(shape: Shape) -> list[str]:
    """Columns that hold JSON as text."""
    return [one.name for one in shape if one.type == "json"]


def parse_json(row: dict[str, Any], columns: Sequence[str]) -> dict[str, Any]:
    """The row with its JSON columns parsed."""
    return row | {name: json.loads(row[name]) for name in columns if row[name] is not None}


def _render_json(record: type[Record], rows: Sequence[Record]) -> dict[str, list[str | None]]:
    columns = json_columns(shape_of(record))
    if not columns:
        return {}
    values = [row.model_dump(mode="json", include=set(columns)) for row in rows]
    return {
        name: [None if one[name] is None else canonical_json(one[name]) for one in values]
        for name in columns
    }
