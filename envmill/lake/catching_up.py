"""Rows that came to a run since one last looked: what other processes published meanwhile."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)

from collections.abc import Iterator
from typing import TypeVar

from envmill.lake.arrow import from_arrow
from envmill.lake.lake import Lake
from envmill.lake.reading import read_parts
from schemas.base import Record

R = TypeVar("R", bound=Record)


def read_new(lake: Lake, record: type[R], run: str, seen: set[str]) -> Iterator[R]:
    """Rows of files that are not in `seen`, which they join, as they lie there. A row that was written twice comes twice, and so does
    what was compacted meanwhile."""
    for entry in lake.snapshot(run, [record.table]).files[record.table]:
        if entry.name not in seen:
            for part in read_parts(lake.store, entry.name, record):
                yield from from_arrow(record, part.to_pylist())
            seen.add(entry.name)
