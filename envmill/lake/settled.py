"""An index of settled runs: their files that count and their rollups, so that opening a question over thousands of runs lists none of them.

    _settled/<n>.json                 which runs; the highest number is read
    _settled/<n>-<writer>/<top>.json  their folders below one top folder: state, and files that count

An entry holds while the state of each folder that it rests on is what it was: a folder's time of change on a disk, the names in it in an
object store. So whoever changes a run need not know of the index. It is derived: delete it, and compaction makes it again.
"""

import contextlib
import uuid
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from envmill.base.errors import LakeError
from envmill.lake.files import file_name
from envmill.lake.lake import Lake
from envmill.lake.rollup import ROLLUPS, digest_views, find_rollups, name_rollups
from envmill.lake.snapshot import FileSnapshot
from envmill.lake.stores.base import StoredFile, ask_each, read_clock
from schemas.tables import TABLES

_INDEX, _FORM = "_settled", 1
_BASIC = ("attrition", "quarantine", "_compact", ROLLUPS)
"""Top folders that every question rests on: commits, rows that were set aside, merges, rollups."""
_ALL = tuple(dict.fromkeys((*TABLES, *_BASIC)))
LEAST = 64
"""Runs below which listing them takes no longer than the index; and runs that it may lack."""
_SHARE = 0.1  # of its runs that it may lack before it is made again
_SETTLING = (
    2.0  # seconds that a folder must have been left alone: two changes in one tick look like one
)


@dataclass(frozen=True)
class SettledRun:
    """What the index knows of a run that is as it was."""

    snapshot: FileSnapshot
    """With files of the tables that are needed alone."""
    rollups: Mapping[str, str]
    """View → path, of the views that are needed."""


@dataclass(frozen=True)
class _Index:
    number: int
    place: str
    """Folder of its parts."""
    views: str
    """Digest of the views that the rollups answer."""
    runs: Mapping[str, tuple[str, int]]
    """Run → key of its rollups, and its newest merge."""


Parts = Mapping[str, Mapping[str, tuple[str, Sequence[tuple[str, int, float]]]]]
"""Top folder → run → state of its folder there, and stem, size and time of files that count."""
States = Mapping[str, Mapping[str, str]]
"""Top folder → run → state."""


def find_settled(
    lake: Lake, runs: Sequence[str], views: Mapping[str, str], needed: Collection[str]
) -> dict[str, SettledRun]:
    """Those of the runs that the index tells of, as far as a question needs it: tables and views, with all that they stand on."""
    index = _read_newest(lake, views) if len(runs) >= LEAST else None
    if index is None:
        return {}
    tops = list(dict.fromkeys((*(TABLES.keys() & needed), *_BASIC)))
    wanted = sorted(views.keys() & needed)
    parts = _read_parts(lake, index, tops)
    same = _find_same(index, parts, _read_states(lake, tops))
    return {run: _describe(lake, index, parts, run, wanted) for run in runs if run in same}


def _describe(
    lake: Lake, index: _Index, parts: Parts, run: str, views: Sequence[str]
) -> SettledRun:
    key, merges = index.runs[run]
    files = {
        table: tuple(
            StoredFile(file_name(table, run, stem), size, modified)
            for stem, size, modified in (found[run][1] if run in found else ())
        )
        for table, found in parts.items()
        if table in TABLES
    }
    rollups = {
        view: lake.store.locate(name) for name, view in name_rollups(run, key, views).items()
    }
    return SettledRun(FileSnapshot(run, merges, files), rollups)


def _find_same(index: _Index, parts: Parts, now: States) -> set[str]:
    """Runs whose folders below these top folders are as they were, and none came. None where a part was not read."""
    same = {*index.runs} if parts.keys() == now.keys() else set[str]()
    for top, found in parts.items():
        states = now[top]
        same -= {run for run, (state, _) in found.items() if states.get(run) != state}
        same -= states.keys() - found.keys()
    return same


def write_index(
    lake: Lake, views: Mapping[str, str], least: int = LEAST, settling: float = _SETTLING
) -> int:
    """Make it again once it lacks too many settled runs. The runs that the new one has; 0 where the old one stays.

    A run is in it only if none of its folders changed while it was looked at, nor shortly before."""
    rolled = {name.removeprefix("run=") for name in lake.store.folders(ROLLUPS)}
    if len(rolled) < least:
        return 0
    old = _read_newest(lake, views)
    lacking = rolled
    if old is not None:
        lacking = rolled - _find_same(
            old, _read_parts(lake, old, _BASIC), _read_states(lake, _BASIC)
        )
    if len(lacking) < max(least, _SHARE * len(rolled)):
        return 0
    before = read_clock(lake.store) - settling
    then = _read_states(lake, _ALL, before)
    parts: Parts = {top: {} for top in _ALL} if old is None else _read_parts(lake, old, _ALL)
    same = set[str]() if old is None else _find_same(old, parts, then) & rolled
    taken = {run: one for run in sorted(rolled - same) if (one := _take(lake, run, views))}
    if old is not None:
        taken |= {run: (*old.runs[run], _list_files(parts, run)) for run in same}
    now = _read_states(lake, _ALL, before)
    still = {run: one for run, one in taken.items() if _is_still(run, then, now)}
    return len(still) if still and _publish(lake, views, still, now) else 0


Taken = tuple[str, int, Mapping[str, Sequence[tuple[str, int, float]]]]
"""Key of a run's rollups, its newest merge, and its files that count."""


def _take(lake: Lake, run: str, views: Mapping[str, str]) -> Taken | None:
    """A run as its folders tell it; None unless all of its rollups are there."""
    try:
        snapshot = lake.snapshot(run)
    except LakeError:  # whoever asks for the run is told
        return None
    rollups = find_rollups(lake, snapshot, views)
    if not rollups or snapshot.missing:
        return None
    key = next(iter(rollups.values())).rpartition("-")[2].removesuffix(".parquet")
    files = {
        table: [(entry.stem, entry.size, entry.modified) for entry in entries]
        for table, entries in snapshot.files.items()
    }
    return key, snapshot.merges, files


def _list_files(parts: Parts, run: str) -> Mapping[str, Sequence[tuple[str, int, float]]]:
    return {table: found[run][1] for table, found in parts.items() if run in found}


def _is_still(run: str, then: States, now: States) -> bool:
    """Whether no folder of a run changed between two readings, nor had changed too shortly before the first."""
    states = [(then[top].get(run), now[top].get(run)) for top in now]
    return all(one == other != "" for one, other in states)


def _read_states(lake: Lake, tops: Sequence[str], before: float | None = None) -> States:
    found = ask_each(lake.store, lambda top: lake.store.states(top, before), tops)
    return {
        top: {name.removeprefix("run="): state for name, state in states.items()}
        for top, states in zip(tops, found, strict=True)
    }


def _publish(
    lake: Lake, views: Mapping[str, str], runs: Mapping[str, Taken], states: States
) -> bool:
    """Parts first, then the head that names them. False where another process took the number."""
    heads = _list_heads(lake)
    number = 1 + max(heads, default=0)
    place = f"{_INDEX}/{number:06d}-{uuid.uuid4().hex[:8]}"
    for top, found in states.items():
        part = {
            run: (state, runs[run][2].get(top, ())) for run, state in found.items() if run in runs
        }
        lake.store.put_if_absent(f"{place}/{top}.json", orjson.dumps(part))
    head = {
        "form": _FORM,
        "place": place,
        "views": digest_views(views),
        "runs": {run: (key, merges) for run, (key, merges, _) in runs.items()},
    }
    published = lake.store.put_if_absent(_name_head(number), orjson.dumps(head))
    if published:
        _sweep(lake, number)
    return published


def _sweep(lake: Lake, number: int) -> None:
    """Remove indexes but the last two: somebody may be reading the one before."""
    for old in _list_heads(lake):
        if old < number - 1:
            lake.store.delete(_name_head(old))
    for name in lake.store.folders(_INDEX):
        named = name.partition("-")[0]
        if named.isdigit() and int(named) < number - 1:
            for entry in lake.store.entries(f"{_INDEX}/{name}"):
                lake.store.delete(entry.name)


def _read_newest(lake: Lake, views: Mapping[str, str]) -> _Index | None:
    """None where there is none, or its rollups answer other views."""
    if not (heads := _list_heads(lake)):
        return None
    try:
        head = orjson.loads(lake.store.read(_name_head(max(heads))))
        if (head["form"], head["views"]) == (_FORM, digest_views(views)):
            return _Index(max(heads), head["place"], head["views"], head["runs"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        pass  # it is derived: without it runs are listed
    return None


def _read_parts(lake: Lake, index: _Index, tops: Iterable[str]) -> Parts:
    """Nothing where a part is gone or damaged: no run is then as it was."""

    def read(top: str) -> Any:
        return orjson.loads(lake.store.read(f"{index.place}/{top}.json"))

    wanted = list(tops)
    with contextlib.suppress(FileNotFoundError, ValueError):
        return dict(zip(wanted, ask_each(lake.store, read, wanted), strict=True))
    return {}


def _list_heads(lake: Lake) -> list[int]:
    return [int(entry.stem) for entry in lake.store.entries(_INDEX) if entry.stem.isdigit()]


def _name_head(number: int) -> str:
    return f"{_INDEX}/{number:06d}.json"
