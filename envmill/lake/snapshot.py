"""A snapshot: the files of a run that counted at one moment, whoever was writing or compacting
meanwhile.

merge records ─► attrition files (what is committed) ─► files of each table ─► merge records again
                        any difference: look again
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass

from envmill.base.errors import LakeError
from envmill.lake.commits import find_commits
from envmill.lake.files import BatchName, MergedName, file_name, folder_of
from envmill.lake.merges import MergeRecord, MergeRecords, unite
from envmill.lake.stores.base import Store, StoredFile, ask_each
from schemas.tables import TABLES

_TRIES = 100  # one look takes less than a compaction, so the second nearly always does
_PATIENCE = (
    3  # looks at folders too large to be listed as of one moment, in the hope that two agree
)


@dataclass(frozen=True)
class FileSnapshot:
    """Files that count, by table."""

    run: str
    merges: int
    """Number of the newest merge record."""
    files: Mapping[str, tuple[StoredFile, ...]]

    @property
    def missing(self) -> list[str]:
        """Names of files that count and were not there."""
        return [
            entry.name
            for entries in self.files.values()
            for entry in entries
            if entry.modified == 0.0
        ]


@dataclass(frozen=True)
class _Look:
    snapshot: FileSnapshot
    still: bool
    """No compaction ended while we looked."""
    whole: bool
    """Every folder was small enough to be listed as of one moment."""


def take_snapshot(
    store: Store, merges: MergeRecords, run: str, tables: Iterable[str], start: str = ""
) -> FileSnapshot:
    """Look until no compaction came between. With `start`: of the files of batches those whose names start so.

    Where a folder is too large for one listing and written to without a pause, the snapshot holds
    whatever was committed before
    the look began, and of what was committed during it some.
    """
    wanted, before = list(tables), None
    for number in range(_TRIES):
        look = _read(store, merges, run, wanted, start)
        if look.still and (look.whole or look.snapshot == before or number >= _PATIENCE):
            return look.snapshot
        before = look.snapshot if look.still else None
    raise LakeError(
        f"Run {run} in {store.url} was compacted during each of {_TRIES} looks. Let one process "
        "at a time compact it."
    )


def _read(store: Store, merges: MergeRecords, run: str, tables: Sequence[str], start: str) -> _Look:
    names = merges.names(run)
    records = merges.read(names)
    attrition = store.entries(folder_of("attrition", run), start)
    commits = find_commits(store, run, attrition, records)
    committed, told = {stem for one in commits for stem in (one.stem, one.commit)}, _group(commits)
    # After the attrition files: whatever they commit has its folder by now.
    present = set(tables if len(tables) < 3 else store.folders("")).intersection(tables) - {
        "attrition"
    }
    listed = dict(
        zip(
            present,
            ask_each(store, lambda table: store.entries(folder_of(table, run), start), present),
            strict=True,
        )
    )
    listed["attrition"] = attrition
    files = {
        table: _select(
            run,
            table,
            listed.get(table, []),
            records,
            committed,
            told.get(TABLES[table].prefix, set()),
        )
        for table in tables
    }
    whole = max(map(len, listed.values())) <= store.whole_listing
    return _Look(FileSnapshot(run, len(names), files), merges.names(run) == names, whole)


def _group(commits: Iterable[BatchName]) -> dict[str, set[str]]:
    """Id prefix → stems of the content files that the commits tell of."""
    grouped: dict[str, set[str]] = {}
    for one in commits:
        for prefix in one.holds:
            grouped.setdefault(prefix, set()).add(one.stem)
    return grouped


def _select(
    run: str,
    table: str,
    entries: Sequence[StoredFile],
    records: Sequence[MergeRecord],
    committed: Set[str],
    told: Set[str],
) -> tuple[StoredFile, ...]:
    """A file that a record adds or a commit tells of counts even when the listing lacks it: reading
    it then says what is missing."""
    replaced, added = (
        unite([one.replaces for one in records], table),
        unite([one.adds for one in records], table),
    )
    found = {entry.stem: entry for entry in entries if entry.name.endswith(".parquet")}
    live = (
        {
            stem
            for stem in found
            if stem in committed or not (BatchName.parse(stem) or MergedName.parse(stem))
        }
        | told
        | added
    )
    return tuple(
        found.get(stem) or StoredFile(file_name(table, run, stem), 0, 0.0)
        for stem in sorted(live - replaced)
    )
