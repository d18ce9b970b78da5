"""Rollups: a view's rows of one run, kept as a file until anything of that run changes.

    _rollup/run=<run>/<view>-<digest>.parquet

The digest covers the names of every file of the run that counts and the SQL of the views: a new
event, batch or merge makes a rollup stale by itself, and nobody has to remember which runs are
settled.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownParameterType=false
# (pyarrow ships no types)

from collections.abc import Callable, Iterable, Mapping
from functools import cache

import pyarrow as pa

from envmill.lake.lake import Lake
from envmill.lake.reading import encode
from envmill.lake.snapshot import FileSnapshot
from schemas.base import digest
from schemas.ledger import RunEvent
from schemas.shapes import version_of
from schemas.tables import TABLES

ROLLUPS = "_rollup"


def find_rollups(lake: Lake, snapshot: FileSnapshot, views: Mapping[str, str]) -> dict[str, str]:
    """View → path of its rows of this run as of the snapshot; empty unless every view (name → SQL)
    has one."""
    wanted = _name_all(snapshot, views)
    found = {
        wanted[entry.name]: lake.store.locate(entry.name)
        for entry in lake.store.entries(_folder(snapshot.run))
        if entry.name in wanted
    }
    return found if len(found) == len(views) else {}


def find_stale(lake: Lake, views: Mapping[str, str]) -> list[str]:
    """Runs that have rollups none of which holds: they are asked live until somebody compacts them
    again."""
    return [
        run
        for run in lake.runs()
        if lake.store.entries(_folder(run)) and not find_rollups(lake, lake.snapshot(run), views)
    ]


def write_rollups(
    lake: Lake, run: str, views: Mapping[str, str], answer: Callable[[str], pa.Table]
) -> int:
    """Keep the answer of every view for a run, unless it is kept. None is kept when the run moved
    while the views were asked."""
    snapshot = lake.snapshot(run)
    if find_rollups(lake, snapshot, views):
        return 0
    answers = {view: answer(view) for view in views}
    if lake.snapshot(run) != snapshot:
        return 0
    names = _name_all(snapshot, views)
    return sum(
        lake.store.put_if_absent(name, encode(answers[view])) for name, view in names.items()
    )


def delete_stale(lake: Lake, run: str, views: Mapping[str, str], before: float) -> int:
    """Remove rollups that no longer hold and are older than that."""
    snapshot = lake.snapshot(run)
    valid = _name_all(snapshot, views)
    stale = [
        entry
        for entry in lake.store.entries(_folder(run))
        if entry.name not in valid and entry.modified < before
    ]
    for entry in stale:
        lake.store.delete(entry.name)
    return len(stale)


def is_finished(lake: Lake, run: str) -> bool:
    """Whether the newest thing that happened to a run is that it finished."""
    events = lake.read(RunEvent, run)
    return bool(events) and max(events, key=lambda event: event.happened_at).event == "finished"


def _name_all(snapshot: FileSnapshot, views: Mapping[str, str]) -> dict[str, str]:
    """Where the rows of a snapshot lie → view."""
    files = {table: [entry.stem for entry in entries] for table, entries in snapshot.files.items()}
    return name_rollups(snapshot.run, digest([files, digest_views(views)], 16), views)


def name_rollups(run: str, key: str, views: Iterable[str]) -> dict[str, str]:
    """Where the rows of a run lie, of a digest of its files and the views → view."""
    return {f"{_folder(run)}/{view}-{key}.parquet": view for view in views}


def digest_views(views: Mapping[str, str]) -> str:
    """Of what every rollup depends on beside the files: the views, and the versions of the tables
    they read."""
    return _digest_views(tuple(views.items()))


@cache
def _digest_views(views: tuple[tuple[str, str], ...]) -> str:
    return digest([views, {table: version_of(record) for table, record in TABLES.items()}])


def _folder(run: str) -> str:
    return f"{ROLLUPS}/run={run}"
