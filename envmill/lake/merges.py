"""Merge records: `_compact/run=<run>/<n>.json`, one per compaction, numbered without gaps. Each
says which files no longer count and which count in their place; all of them together hold at the
moment the newest is published.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import orjson

from envmill.base.errors import LakeError
from envmill.lake.stores.base import Store, StoredFile

Stems = Mapping[str, frozenset[str]]
"""Table → stems."""


@dataclass(frozen=True)
class MergeRecord:
    """One compaction of one run."""

    number: int
    replaces: Stems
    adds: Stems
    modified: float
    """When it was published, by the store's clock; its grace period starts here."""


class MergeRecords:
    """Merge records of a store, each read once: they never change."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._read: dict[str, MergeRecord] = {}

    def names(self, run: str) -> list[StoredFile]:
        """Records there are, in order. A gap would bring replaced rows back, so it is an error."""
        found = self._store.entries(record_folder(run))
        wanted = [record_name(run, number) for number in range(1, len(found) + 1)]
        if missing := sorted(set(wanted) - {entry.name for entry in found}):
            raise LakeError(
                f"{self._store.locate(missing[0])} is missing, and later records are there. "
                "Restore it from a copy: without it rows would count twice."
            )
        return found

    def read(self, names: Sequence[StoredFile]) -> list[MergeRecord]:
        """The records themselves."""
        for entry in names:
            if entry.name not in self._read:
                self._read[entry.name] = self._parse(entry)
        return [self._read[entry.name] for entry in names]

    def _parse(self, entry: StoredFile) -> MergeRecord:
        try:
            found = orjson.loads(self._store.read(entry.name))
            return MergeRecord(
                int(entry.stem), _stems(found["replaces"]), _stems(found["adds"]), entry.modified
            )
        except (ValueError, KeyError, TypeError) as error:
            raise LakeError(
                f"{self._store.locate(entry.name)} is damaged ({error!r}). Restore it from a copy."
            ) from error


def write_merge(store: Store, run: str, number: int, replaces: Stems, adds: Stems) -> bool:
    """Publish a record; False when another compaction took the number."""
    content = {
        "replaces": {t: sorted(s) for t, s in replaces.items()},
        "adds": {t: sorted(s) for t, s in adds.items()},
    }
    return store.put_if_absent(record_name(run, number), orjson.dumps(content))


def unite(stems: Sequence[Stems], table: str) -> frozenset[str]:
    """Stems of one table in any of several records."""
    return frozenset[str]().union(*(one.get(table, frozenset()) for one in stems))


def record_folder(run: str) -> str:
    return f"_compact/run={run}"


def record_name(run: str, number: int) -> str:
    return f"{record_folder(run)}/{number:06d}.json"


def _stems(found: Mapping[str, Sequence[str]]) -> Stems:
    return {table: frozenset(stems) for table, stems in found.items()}
