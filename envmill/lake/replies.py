"""Replies that a process knows, on its disk: programs and scenarios of a large run would fill its memory.

lake, journals, own calls ─► (request, sample) → call, packed in a spool ─► recalled one by one
"""

import threading
from collections.abc import Iterable, Iterator, MutableMapping, Sequence
from typing import Any, cast

from envmill.lake.spool import RowSpool, pack, unpack
from schemas.ledger import ModelCall

Key = tuple[str, int]
"""Hash of a request, and its sample."""


class StoredReplies(MutableMapping[Key, ModelCall]):
    """Calls that were answered. Several threads of a process may use one."""

    def __init__(self) -> None:
        self._spool, self._lock = RowSpool(), threading.Lock()
        self._spool.write(
            "create table replies (request text, sample int, body blob, primary key (request, sample))",
            [()],
        )

    def learn(self, calls: Iterable[ModelCall]) -> None:
        """Take those that were answered."""
        for call in calls:
            if call.answers:
                self[call.request, call.sample] = call

    def __getitem__(self, key: Key) -> ModelCall:
        rows = self._ask("select body from replies where request = ? and sample = ?", key)
        if not rows:
            raise KeyError(key)
        return ModelCall.model_validate(unpack(rows[0][0]))

    def __contains__(self, key: object) -> bool:
        known = "select 1 from replies where request = ? and sample = ?"
        return bool(self._ask(known, cast("Key", key)))

    def __setitem__(self, key: Key, call: ModelCall) -> None:
        with self._lock:
            self._spool.write(
                "insert or replace into replies values (?, ?, ?)", [(*key, pack(call.model_dump()))]
            )

    def __delitem__(self, key: Key) -> None:
        with self._lock:
            self._spool.write("delete from replies where request = ? and sample = ?", [key])

    def __iter__(self) -> Iterator[Key]:
        rows = self._ask("select request, sample from replies order by request, sample", ())
        return ((request, sample) for request, sample in rows)

    def __len__(self) -> int:
        return self._ask("select count(*) from replies", ())[0][0]

    def _ask(self, question: str, values: Sequence[Any]) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._spool.ask(question, values)
