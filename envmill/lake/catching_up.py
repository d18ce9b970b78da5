"""Rows that came to a run since one last looked: what other processes published meanwhile."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)

from typing import Any, TypeVar

from envmill.lake.arrow import from_arrow
from envmill.lake.lake import Lake
from envmill.lake.reading import read_file
from schemas.base import Record

R = TypeVar("R", bound=Record)


def read_new(lake: Lake, record: type[R], run: str, seen: set[str]) -> list[R]:
    """Rows of files that are not in `seen`, which they join; in id order, and of a row written twice the latest attempt. What was
    compacted meanwhile comes again."""
    latest: dict[str, dict[str, Any]] = {}
    for entry in lake.snapshot(run, [record.table]).files[record.table]:
        if entry.name in seen:
            continue
        for row in read_file(lake.store, entry.name, record).to_pylist():
            if row["id"] not in latest or row["try_number"] > latest[row["id"]]["try_number"]:
                latest[row["id"]] = row
        seen.add(entry.name)
    return from_arrow(record, (latest[key] for key in sorted(latest)))
