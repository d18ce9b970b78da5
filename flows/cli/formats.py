"""An answer as it leaves the program: a table or lines, JSON, CSV, or a Parquet file."""

import csv
import json
import math
import re
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from envmill.base.errors import SettingsError
from envmill.lake.sql import QueryResult, Row
from flows.cli.printing import print_as_json, print_text
from flows.cli.table import show
from flows.cli.telling import make_plain

_FORMULA = re.compile(r"[\s\x00-\x1f\ufeff]*[=+@\uff1d\uff0b\uff0d\uff20-]|[\t\r\n]")
"""What spreadsheets take for the beginning of a formula; some know wide signs, too, and some drop
the space before it."""
MOST_TEXT = 64 * 2**20
"""Characters of a table: more is not for eyes."""


def print_table(answer: QueryResult, limit: int) -> None:
    """Up to so many rows, and a note when there are more."""
    if answer.columns == ["explain_key", "explain_value"]:
        return print_text("\n".join(str(row[1]) for row in answer.rows()))
    rows, held = list[Row](), 0
    for row in take(answer, limit):
        held += sum(len(value) for value in row if isinstance(value, str | bytes | list))
        if held > MOST_TEXT:
            print_text(
                f"The first {len(rows):,} rows; the rest is too long to show. Choose columns, or "
                "use --json or --parquet.",
                err=True,
            )
            break
        rows.append(row)
    return show(answer.columns, rows)


def print_json(answer: QueryResult, limit: int) -> None:
    """One array of objects; dates and decimals as text, what is no number as null."""
    separator = "[\n"
    for row in take(answer, limit):
        values = dict(zip(answer.columns, map(_plain, row), strict=True))
        print_as_json(separator + json.dumps(values, ensure_ascii=False, default=str), nl=False)
        separator = ",\n"
    print_text("[]" if separator == "[\n" else "\n]")


def print_csv(answer: QueryResult, limit: int) -> None:
    """With a header; a null is an empty field. What a spreadsheet would take for a formula stands
    behind an apostrophe."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    quoted = csv.writer(sys.stdout, lineterminator="\n", quoting=csv.QUOTE_ALL)
    writer.writerow(map(_defuse, answer.columns))
    for row in take(answer, limit):
        values = [_defuse(value) for value in row]
        # The writer does not see that a carriage return ends a line for those who read it.
        (
            quoted if any("\r" in value for value in values if isinstance(value, str)) else writer
        ).writerow(values)


def write_parquet(answer: QueryResult, path: Path) -> int:
    """Rows written. The file is there whole, or not at all."""
    import pyarrow.parquet as pq

    part = path.with_name(f".{path.name}.part")
    try:
        reader, rows = answer.batches(), 0
        with pq.ParquetWriter(part, reader.schema, compression="zstd") as writer:
            for batch in reader:
                writer.write_batch(batch)
                rows += batch.num_rows
        part.replace(path)
    except OSError as error:
        raise SettingsError(f"Cannot write {path}: {error}. Name another file.") from error
    finally:
        part.unlink(missing_ok=True)
    return rows


def take(answer: QueryResult, limit: int) -> Iterator[Row]:
    """Rows up to the limit (0: all of them), with a note on what was left out."""
    rows = answer.rows()
    yield from islice(rows, limit or None)
    if limit and next(rows, None) is not None:
        print_text(
            f"The first {limit:,} rows; there are more. Aggregate, or ask for all with --limit 0.",
            err=True,
        )


def _defuse(value: Any) -> Any:
    """A text that no spreadsheet carries out and no terminal obeys."""
    if not isinstance(value, str):
        return value
    told = make_plain(value) if sys.stdout.isatty() else value
    return f"'{told}" if _FORMULA.match(told) else told


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(key): _plain(one) for key, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
