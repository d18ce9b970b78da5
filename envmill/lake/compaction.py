"""Compaction: fewer and larger files, superseded attempts settled, rollups of finished runs, and
what nobody needs any more removed.

merge ─► record n (put-if-absent; the loser looks again) ─► rollups ─► delete what was replaced longer ago than the grace period

Killed anywhere it leaves only files that do not count, and the next compaction removes them.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.lake.files import MergedName, folder_of
from envmill.lake.lake import Lake
from envmill.lake.merges import MergeRecord, Stems, unite, write_merge
from envmill.lake.merging import FULL, merge_files
from envmill.lake.reading import describe_gone
from envmill.lake.rollup import delete_stale, is_finished, write_rollups
from envmill.lake.settled import write_index
from envmill.lake.stores.base import StoredFile, read_clock
from envmill.lake.views import VIEWS, open_views
from schemas.tables import TABLES

GRACE = 3600.0  # seconds; a reader that listed before a merge has so long to open what it listed
_TRIES = 3
_SQLS = {name: str(getattr(view, "sql", view)) for name, view in VIEWS.items()}


@dataclass(frozen=True)
class Compaction:
    """What one compaction did."""

    run: str
    replaced: int
    """Files that no longer count."""
    added: int
    """Files that count in their place."""
    deleted: int
    """Files removed."""
    rollups: int
    """Views kept as files."""


def compact(lake: Lake, run: str, now: float | None = None, grace: float = GRACE) -> Compaction:
    """Compact one run. `now` is the store's own time unless given: ages never depend on this
    machine's clock."""
    replaced, added = _merge(lake, run)
    rollups = _roll_up(lake, run)
    write_index(lake, _SQLS)
    now = read_clock(lake.store) if now is None else now
    litter = lake.store.sweep(
        now - max(grace, GRACE)
    )  # younger ones may be a writer's that is about to publish them
    return Compaction(run, replaced, added, _clean(lake, run, now - grace) + litter, rollups)


def _merge(lake: Lake, run: str) -> tuple[int, int]:
    """Files replaced and added. A compaction that lost its number, or met files that went, looks
    again."""
    gone: FileNotFoundError | None = None
    for _ in range(_TRIES):
        snapshot, writer = lake.snapshot(run), uuid.uuid4().hex[:8]
        small = {
            table: [entry for entry in entries if entry.size < FULL]
            for table, entries in snapshot.files.items()
        }
        small = {table: entries for table, entries in small.items() if len(entries) > 1}
        if not small:
            return 0, 0
        try:
            adds = {
                table: merge_files(
                    lake.store, TABLES[table], run, small[table], snapshot.merges + 1, writer
                )
                for table in small
            }
            replaces = {
                table: frozenset(entry.stem for entry in entries)
                for table, entries in small.items()
            }
            if write_merge(lake.store, run, snapshot.merges + 1, replaces, adds):
                return _count(replaces), _count(adds)
        except FileNotFoundError as error:
            gone = error
    if gone:
        raise describe_gone(lake.store, gone, run) from gone
    return 0, 0


def _roll_up(lake: Lake, run: str) -> int:
    """A run that goes on changes its files, and with them what a rollup would hold for: only
    finished runs get one."""
    if not is_finished(lake, run):
        return 0
    with open_views(lake, [run]) as connection:
        return write_rollups(
            lake,
            run,
            _SQLS,
            lambda view: connection.sql(f'select * from "{view}"').to_arrow_table(),
        )


def _clean(lake: Lake, run: str, before: float) -> int:
    records = lake.merges.read(lake.merges.names(run))
    present = TABLES.keys() & lake.store.folders("")
    names = [
        entry.name for table in present for entry in _find_dead(lake, run, table, records, before)
    ]
    for name in names:
        lake.store.delete(name)
    return len(names) + delete_stale(lake, run, _SQLS, before)


def _find_dead(
    lake: Lake, run: str, table: str, records: Sequence[MergeRecord], before: float
) -> Iterator[StoredFile]:
    """Replaced before that time; or merged under a number that another compaction took, which
    nobody ever listed."""
    replaced = unite([one.replaces for one in records if one.modified <= before], table)
    known = unite([one.adds for one in records], table)
    for entry in lake.store.entries(folder_of(table, run)):
        merged = MergedName.parse(entry.stem)
        lost = merged is not None and merged.number <= len(records) and entry.stem not in known
        if entry.stem in replaced or lost:
            yield entry


def _count(stems: Stems) -> int:
    return sum(map(len, stems.values()))
