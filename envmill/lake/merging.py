"""Merging: many small files of one table become few, rows that a later attempt made again left out.

keys of all files ─► newest attempt of each row ─► rows, lot by lot ─► files of some 256 MB
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

from collections.abc import Iterator, Sequence
from io import BytesIO

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from envmill.lake.arrow import arrow_schema
from envmill.lake.files import MergedName, file_name
from envmill.lake.reading import read_files
from envmill.lake.stores.base import Store, StoredFile, split
from schemas.base import Record

FULL = 256 * 1024 * 1024  # bytes of a merged file, held in memory once while it is made
_LOT = (
    2 * 1024 * 1024
)  # bytes of files read at once; conversations take forty times as much in memory
_GROUP_ROWS = 122_880  # DuckDB's own row group
_GROUP_BYTES = 64 * 1024 * 1024  # in memory: long rows make a group of fewer
_KEYS = ["id", "step", "fingerprint"]


def merge_files(
    store: Store,
    record: type[Record],
    run: str,
    entries: Sequence[StoredFile],
    number: int,
    writer: str,
) -> frozenset[str]:
    """Publish the merged files and return their stems. They count once a merge record names them."""
    groups = _read_groups(
        store, record, [[entry.name for entry in lot] for lot in split(entries, _LOT)]
    )
    stems: set[str] = set()
    for part, content in enumerate(_encode_parts(groups, arrow_schema(record))):
        stem = MergedName(number, writer, part).stem
        store.put_if_absent(file_name(record.table, run, stem), content)
        stems.add(stem)
    return frozenset(stems)


def _read_groups(
    store: Store, record: type[Record], lots: Sequence[Sequence[str]]
) -> Iterator[pa.Table]:
    """Rows of each lot, without those that a later attempt made again. Attrition keeps all: costs sum."""
    if record.table == "attrition":
        yield from (pa.concat_tables(read_files(store, lot, record)) for lot in lots)
    elif len(lots) == 1:
        rows = pa.concat_tables(read_files(store, lots[0], record))
        yield rows.filter(pa.array(_find_newest(rows.select([*_KEYS, "try_number"]))))
    else:
        keys = [
            pa.concat_tables(read_files(store, lot, record, [*_KEYS, "try_number"])) for lot in lots
        ]
        newest, start = _find_newest(pa.concat_tables(keys)), 0
        for lot, found in zip(lots, keys, strict=True):
            yield pa.concat_tables(read_files(store, lot, record)).filter(
                pa.array(newest[start : start + len(found)])
            )
            start += len(found)


def _find_newest(keys: pa.Table) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    """For each row, whether it is the newest attempt of its id."""
    keys = keys.append_column("place", pa.array(np.arange(len(keys))))
    ordered = keys.sort_by([("try_number", "descending"), ("place", "ascending")])
    newest = ordered.group_by(_KEYS, use_threads=False).aggregate([("place", "first")])
    mask = np.zeros(len(keys), dtype=np.bool_)
    mask[newest["place_first"].to_numpy()] = True
    return mask


def _encode_parts(groups: Iterator[pa.Table], schema: pa.Schema) -> Iterator[bytes]:
    """Parquet files, a new one whenever the last is full."""
    buffer, writer = BytesIO(), None
    for group in _gather(groups):
        writer = writer or pq.ParquetWriter(
            buffer, schema, compression="zstd", write_page_checksum=True
        )
        writer.write_table(group, row_group_size=_GROUP_ROWS)
        if buffer.tell() >= FULL:
            writer.close()
            yield buffer.getvalue()
            buffer, writer = BytesIO(), None
    if writer is not None:
        writer.close()
        yield buffer.getvalue()


def _gather(tables: Iterator[pa.Table]) -> Iterator[pa.Table]:
    """Tables that are written together, so that a file has few row groups."""
    held: list[pa.Table] = []
    for table in tables:
        held.append(table)
        if sum(map(len, held)) >= _GROUP_ROWS or sum(one.nbytes for one in held) >= _GROUP_BYTES:
            yield pa.concat_tables(held)
            held = []
    if held:
        yield pa.concat_tables(held)
