"""The slips of a run: which requests were handed in, under which id, and which of them came to
nothing. They lie beside the lake's tables.

<number>.handed.json ─► <slip>.sent.json (carrier's id) ─► <slip>.closed.json (fates that are not `done`)
"""

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from envmill.base.errors import LakeError
from envmill.lake.stores import Store
from envmill.models.batches.base import BatchSlip, Fate, Outcome

VOID = "void"
"""Id of a slip that was written down and never sent."""


@dataclass(frozen=True)
class FiledSlip:
    """A slip and what is known of it."""

    slip: BatchSlip
    id: str = ""
    """Carrier's id; empty until it is known to be sent, `void` when it was not."""
    closed: bool = False
    """Whether its outcomes have been looked through."""
    undone: Mapping[str, Outcome] | None = None
    """Once closed: items that were not done, with what the carrier said."""

    @property
    def state(self) -> str:
        """In a word."""
        if self.id == VOID:
            return "never sent"
        return "closed" if self.closed else "under way" if self.id else "being sent"


class Slips:
    """Slips of one run. Every file is put once and never changes, so that machines sharing a lake
    share them."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._folder = store, f"_batches/run={run}"
        self._read_already: dict[str, dict[str, Any]] = {}
        self._count = 0

    def hand(self, slip: BatchSlip) -> bool:
        """Write down what is about to be sent, as the next in the row of all slips that were read.
        False when another machine was first.

        Who was not first has to read again: the other's slip may hold the same items.
        """
        first = self._put(f"{self._count + 1:06d}", "handed", asdict(slip))
        self._count += first
        return first

    def mark_sent(self, name: str, id: str) -> None:
        """Write down the carrier's id; the first one holds."""
        self._put(name, "sent", {"id": id})

    def close(self, name: str, outcomes: Mapping[str, Outcome]) -> None:
        """Write down what was not done; what was done is read from the carrier again, until it is
        journalled."""
        undone = {
            item: [outcome.fate, outcome.said, outcome.param]
            for item, outcome in outcomes.items()
            if outcome.fate != "done"
        }
        self._put(name, "closed", {"undone": undone})

    def excuse(self, name: str) -> None:
        """Somebody was told that the items of this slip fail again and again: whoever retries
        starts to count anew."""
        self._put(name, "excused", {})

    def read(self) -> list[FiledSlip]:
        """Every slip, oldest first."""
        files = {entry.stem: self._load(entry.name) for entry in self._store.entries(self._folder)}
        handed = [
            BatchSlip(**content) for stem, content in files.items() if stem.endswith(".handed")
        ]
        self._count = max(
            (int(stem.removesuffix(".handed")) for stem in files if stem.endswith(".handed")),
            default=0,
        )
        return sorted(
            (_assemble(slip, files) for slip in handed),
            key=lambda filed: (filed.slip.handed_at, filed.slip.name),
        )

    def excused(self) -> frozenset[str]:
        """Names of slips up to which failures no longer count."""
        stems = [entry.stem for entry in self._store.entries(self._folder)]
        return frozenset(
            stem.removesuffix(".excused") for stem in stems if stem.endswith(".excused")
        )

    def _put(self, name: str, what: str, content: dict[str, Any]) -> bool:
        return self._store.put_if_absent(
            f"{self._folder}/{name}.{what}.json", json.dumps(content, sort_keys=True).encode()
        )

    def _load(self, name: str) -> dict[str, Any]:
        if name not in self._read_already:
            try:
                self._read_already[name] = json.loads(self._store.read(name))
            except ValueError as error:
                raise LakeError(
                    f"{name} in {self._store.url} is damaged ({error}). Delete it: its batch is "
                    "then looked for again."
                ) from error
        return self._read_already[name]


def count_tries(filed: list[FiledSlip], excused: frozenset[str]) -> Counter[str]:
    """Item → how many batches in a row brought nothing back for it, since somebody was last
    told."""
    tries: Counter[str] = Counter()
    for one in filed:
        if one.closed and one.id != VOID:
            tries.update(list(one.undone or {}))
        if one.slip.name in excused:
            for item in one.slip.items:
                tries.pop(item, None)
    return tries


def _assemble(slip: BatchSlip, files: Mapping[str, dict[str, Any]]) -> FiledSlip:
    name = slip.name
    id = files.get(f"{name}.sent", {}).get("id", "")
    if f"{name}.closed" not in files:
        return FiledSlip(slip, id, closed=id == VOID, undone={} if id == VOID else None)
    undone: dict[str, list[Any]] = files[f"{name}.closed"]["undone"]
    return FiledSlip(
        slip,
        id,
        True,
        {
            item: Outcome(_fate(fate), said=said, param=param)
            for item, (fate, said, param) in undone.items()
        },
    )


def _fate(word: str) -> Fate:
    fates: dict[str, Fate] = {
        fate: fate for fate in ("refused", "failed", "expired", "cancelled", "missing")
    }
    return fates.get(word, "failed")
