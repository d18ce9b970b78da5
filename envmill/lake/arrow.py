"""Records to Arrow and back: one fixed schema per table, heterogeneous JSON as JSON strings."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

import json
import types
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import pyarrow as pa

from schemas.base import Record, canonical_json

R = TypeVar("R", bound=Record)

_SCALARS: dict[Any, pa.DataType] = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}


@dataclass(frozen=True)
class Stamp:
    """What every row carries beside its record: whose work it is. Never part of an id; a record's own field of the same name wins."""

    run: str
    step: str
    fingerprint: str
    bucket: int
    try_number: int
    code_version: str
    written_at: str


_STAMP = [pa.field(field.name, _SCALARS[field.type if isinstance(field.type, type) else Any], nullable=False) for field in fields(Stamp)]


def arrow_schema(record: type[Record]) -> pa.Schema:
    """The table's one schema; a file of any other shape is refused."""
    columns = [
        pa.field(name, *_arrow_type(info.annotation), metadata={"description": info.description or ""})
        for name, info in record.model_fields.items()
    ]
    return pa.schema([*columns, *(field for field in _STAMP if field.name not in record.model_fields)], metadata={"table": record.table})


def make_empty(record: type[Record]) -> object:
    """A table without rows, in its one shape."""
    return arrow_schema(record).empty_table()


def to_arrow(record: type[Record], rows: Sequence[Record], stamp: Stamp) -> pa.Table:
    """Rows of one table, stamped."""
    schema, stamped = arrow_schema(record), asdict(stamp)
    spelled = _json_columns(record)
    columns: dict[str, list[Any]] = {name: [] for name in schema.names}
    for row in rows:
        values = stamped | row.model_dump(mode="json")
        for name, column in columns.items():
            value = values[name]
            column.append(canonical_json(value) if name in spelled and value is not None else value)
    return pa.table(columns, schema=schema)


def from_arrow(record: type[R], rows: Iterable[dict[str, Any]]) -> list[R]:
    """Records back from rows; the stamp is left behind."""
    spelled = _json_columns(record)
    return [
        record.model_validate({n: json.loads(row[n]) if n in spelled and row[n] is not None else row[n] for n in record.model_fields})
        for row in rows
    ]


def _json_columns(record: type[Record]) -> set[str]:
    return {name for name, info in record.model_fields.items() if _scalar(_strip_none(info.annotation)[0]) is None}


def _arrow_type(annotation: Any) -> tuple[pa.DataType, bool]:
    bare, nullable = _strip_none(annotation)
    return _scalar(bare) or pa.string(), nullable


def _scalar(annotation: Any) -> pa.DataType | None:
    return pa.string() if get_origin(annotation) is Literal else _SCALARS.get(annotation)


def _strip_none(annotation: Any) -> tuple[Any, bool]:
    if annotation is Any:
        return Any, True
    if get_origin(annotation) in (Union, types.UnionType):
        rest = [part for part in get_args(annotation) if part is not type(None)]
        return (rest[0] if len(rest) == 1 else Any), len(rest) < len(get_args(annotation))
    return annotation, False
