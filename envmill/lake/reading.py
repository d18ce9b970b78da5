"""Reading a lake file: as the present version writes it, or an error that names the file and the
way out.

file ─► which table and version? ─► exactly that version's columns? ─► rows ─► upgraded to the present version
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false, reportUnknownLambdaType=false
# (pyarrow ships no types)

import errno
import os
from collections.abc import Iterator, Sequence
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from envmill.base.errors import LakeError
from envmill.lake.arrow import arrow_schema, json_columns, make_schema, parse_json
from envmill.lake.files import BatchName
from envmill.lake.merges import MergeRecords, unite
from envmill.lake.stores.base import Store, ask_each
from schemas.base import Record, canonical_json
from schemas.shapes import PAST, Shape, shape_of, upgrade, version_of

_PART_ROWS = 512  # a scenario has some 20 KB, and four times as much once it is parsed
_DICTIONARY_ROWS = 256  # below that a page of distinct values per column costs more than it saves


def encode(table: pa.Table) -> bytes:
    """A Parquet file; page checksums let a reader tell a flipped bit from data."""
    buffer = BytesIO()
    pq.write_table(
        table,
        buffer,
        compression="zstd",
        write_page_checksum=True,
        use_dictionary=len(table) >= _DICTIONARY_ROWS,
    )
    return buffer.getvalue()


def open_file(store: Store, name: str) -> pq.ParquetFile:
    """A Parquet file of the lake; FileNotFoundError names a file that is gone."""
    place = store.locate(name)
    try:
        source = (
            pa.BufferReader(store.read(name)) if "://" in place else place
        )  # pyarrow opens a path faster than a Python file
        return pq.ParquetFile(source, page_checksum_verification=True)
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), place) from error
    except (OSError, pa.ArrowException) as error:
        raise _damaged(store, place, error) from error


def read_file(
    store: Store, name: str, record: type[Record], columns: list[str] | None = None
) -> pa.Table:
    """Rows of a file in the present shape of their table."""
    place, file = store.locate(name), open_file(store, name)
    version = _check(place, file.schema_arrow, record)
    present = version_of(record)
    try:
        table = file.read(columns=columns if version == present else None)
    except (OSError, pa.ArrowException) as error:
        raise _damaged(store, place, error) from error
    return (
        table
        if version == present
        else upgrade_table(table, record, version).select(columns or arrow_schema(record).names)
    )


def read_parts(
    store: Store, name: str, record: type[Record], columns: list[str] | None = None
) -> Iterator[pa.Table]:
    """Rows of a file in the present shape of their table, some at a time: a merged file holds more than fits in memory."""
    place, file = store.locate(name), open_file(store, name)
    version, present = _check(place, file.schema_arrow, record), version_of(record)
    batches = file.iter_batches(_PART_ROWS, columns=columns if version == present else None)
    try:
        for batch in batches:
            table = pa.Table.from_batches([batch])
            yield (
                table
                if version == present
                else upgrade_table(table, record, version).select(
                    columns or arrow_schema(record).names
                )
            )
    except (OSError, pa.ArrowException) as error:
        raise _damaged(store, place, error) from error


def read_files(
    store: Store, names: Sequence[str], record: type[Record], columns: list[str] | None = None
) -> list[pa.Table]:
    """Rows of each file, in the order of the names."""
    return ask_each(store, lambda name: read_file(store, name, record, columns), names)


def upgrade_table(table: pa.Table, record: type[Record], version: int) -> pa.Table:
    """Rows of an older version, rewritten by the upgrades between it and the present one."""
    was, now = json_columns(_past(record, version)), json_columns(shape_of(record))
    old = {column.name for column in _past(record, version)}
    rows: list[dict[str, Any]] = []
    for row in table.to_pylist():
        stamp = {name: value for name, value in row.items() if name not in old}
        content = parse_json({name: row[name] for name in old}, was)
        new = upgrade(record.table, version, content, version_of(record))
        rows.append(
            stamp
            | new
            | {name: None if new[name] is None else canonical_json(new[name]) for name in now}
        )
    return pa.Table.from_pylist(rows, schema=arrow_schema(record))


def file_version(schema: pa.Schema) -> int:
    """The version a file says it has; 0 for a file that says nothing."""
    return int((schema.metadata or {}).get(b"schema_version", b"0"))


def _check(place: str, schema: pa.Schema, record: type[Record]) -> int:
    """The file's version, once its columns are exactly what that version wrote."""
    version, present = file_version(schema), version_of(record)
    if version > present:
        raise LakeError(
            f"{place} holds version {version} of {record.table}; this EnvMill knows {present}. "
            "Read it with a newer EnvMill."
        )
    wanted = (
        arrow_schema(record)
        if version == present
        else make_schema(record.table, version, _past(record, version))
    )
    if not schema.equals(wanted):
        drifted = sorted(
            {_render(field) for field in schema} ^ {_render(field) for field in wanted}
        )
        raise LakeError(
            f"{place} has another shape than version {version} of {record.table}: "
            f"{', '.join(drifted[:6])}. "
            "EnvMill did not write it: move it away, or restore it from a copy."
        )
    return version


def _past(record: type[Record], version: int) -> Shape:
    return PAST.get((record.table, version), ())


def _render(field: pa.Field) -> str:
    return f"{field.name} {field.type}{'' if field.nullable else ' not null'}"


def describe_gone(store: Store, gone: FileNotFoundError, run: str) -> LakeError:
    """A file that counts and is not there."""
    return LakeError(
        f"{gone.filename} counts and is gone. {find_mend(store, str(gone.filename))}: rows of run {run} are missing."
    )


def _damaged(store: Store, place: str, error: Exception) -> LakeError:
    return LakeError(f"{place} cannot be read ({error}). {find_mend(store, place)}.")


def find_mend(store: Store, place: str) -> str:
    """Without its commit a batch does not count, and is made again; unless the commit was
    merged."""
    folder, _, name = place.rpartition("/")
    run, batch, merges = (
        folder.rpartition("/")[2],
        BatchName.parse(name.removesuffix(".parquet")),
        MergeRecords(store),
    )
    if batch:
        merged = unite(
            [one.replaces for one in merges.read(merges.names(run.removeprefix("run=")))],
            "attrition",
        )
        for entry in store.entries(f"attrition/{run}"):
            one = (
                BatchName.parse(entry.stem)
                if entry.name.endswith(".parquet") and entry.stem not in merged
                else None
            )
            if one and one.stem == batch.stem:
                return (
                    f"Restore it from a copy, or delete {entry.name} (its batch is then made again)"
                )
    return "Restore it from a copy"
