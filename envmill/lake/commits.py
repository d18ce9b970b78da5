"""Commits: which batches of a run count, and which files each of them must have.

A commit is the attrition file of a batch. Its name lists the tables of the batch, so a listing
shows what is missing. An attempt that others gave up has a tombstone in its commit's place; a
marker beside it says that it must be looked into.
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)

from collections.abc import Sequence

from envmill.lake.arrow import arrow_schema
from envmill.lake.files import BatchName, file_name, folder_of
from envmill.lake.merges import MergeRecord, unite
from envmill.lake.reading import encode, open_file
from envmill.lake.stores.base import Store, StoredFile
from schemas.ledger import Attrition

_MARKER = ".void"


def find_commits(
    store: Store, run: str, attrition: Sequence[StoredFile], records: Sequence[MergeRecord]
) -> list[BatchName]:
    """Batches that are committed, given a listing of the run's attrition: by a file there, or by
    one that was merged."""
    doubtful = {entry.stem for entry in attrition if entry.name.endswith(_MARKER)}
    listed = (BatchName.parse(entry.stem) for entry in attrition if entry.name.endswith(".parquet"))
    merged = (
        BatchName.parse(stem) for stem in unite([one.replaces for one in records], "attrition")
    )
    standing = [
        one for one in listed if one and not (one.stem in doubtful and _is_void(store, run, one))
    ]
    return [*standing, *(one for one in merged if one)]


def find_ended(attrition: Sequence[StoredFile], records: Sequence[MergeRecord]) -> set[str]:
    """Stems of attempts that nobody can commit any more: committed, merged or void."""
    stems = {entry.stem for entry in attrition if entry.name.endswith(".parquet")} | unite(
        [one.replaces for one in records], "attrition"
    )
    return {one.stem for one in map(BatchName.parse, stems) if one}


def void(store: Store, run: str, batch: BatchName) -> bool:
    """Take the place of a commit that does not come. False when it has come after all, or another
    tombstone has."""
    store.put_if_absent(f"{folder_of('attrition', run)}/{batch.stem}{_MARKER}", b"")
    tombstone = (
        arrow_schema(Attrition)
        .empty_table()
        .replace_schema_metadata({"table": "attrition", "schema_version": "1", "void": "true"})
    )
    return store.put_if_absent(file_name("attrition", run, batch.commit), encode(tombstone))


def _is_void(store: Store, run: str, batch: BatchName) -> bool:
    """Merged meanwhile: a tombstone never is."""
    try:
        return b"void" in (
            open_file(store, file_name("attrition", run, batch.commit)).schema_arrow.metadata or {}
        )
    except FileNotFoundError:
        return False
