"""Documents in an object store that has put-if-absent and nothing else: a document is a chain of versions, of which the last counts.

version n ─► edit ─► put-if-absent of n + 1 ─► written; or somebody was first: read theirs, and edit again

Versions are removed once they are old, so a writer that was stopped for long could put a number that is free again. Nobody reads it,
since higher ones stand; the writer itself measures how long it took, and takes such a put for lost.
"""

import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass

import orjson

from envmill.base.errors import CoordinationError, LakeError
from envmill.lake.coordination.base import Document, T
from envmill.lake.coordination.remote import Unreachable
from envmill.lake.stores.base import Store

_FOLDER = "_coordination"
_GRACE = 120.0  # seconds that a replaced version stays
_FRESH = _GRACE / 2  # seconds for which a version that was the last leads to the last
_SWEEP = 50  # versions between two looks for old ones


@dataclass(frozen=True)
class _Version:
    number: int
    content: bytes
    seen: float
    """When we knew it to be the last."""


class ObjectDocuments:
    """Of one process."""

    def __init__(self, store: Store, clock: Callable[[], float] = time.monotonic) -> None:
        self.place = f"{store.url}/{_FOLDER}"
        self._store, self._clock = store, clock
        self._known: dict[str, _Version] = {}

    def change(self, name: str, edit: Callable[[Document], T]) -> T:
        try:
            return self._change(name, edit)
        except LakeError as error:
            if error.retryable:
                raise Unreachable(error.message) from error
            raise CoordinationError(error.message) from error

    def identify(self) -> str:
        return "objects"

    def close(self) -> None:
        """Nothing is held open."""

    def _change(self, name: str, edit: Callable[[Document], T]) -> T:
        while True:
            last = self._find_last(name)
            document: Document = orjson.loads(last.content)["document"] if last.content else {}
            before = orjson.dumps(document)
            result = edit(document)
            if orjson.dumps(document) == before:
                return result
            number = last.number + 1
            # No two puts are equal: a store takes an equal one for a repetition whose answer was lost.
            after = orjson.dumps({"writer": uuid.uuid4().hex, "document": document})
            put = self._store.put_if_absent(_name(name, number), after)
            if self._clock() - last.seen >= _FRESH:
                del self._known[name]
            elif put:
                self._known[name] = _Version(number, after, last.seen)
                if number % _SWEEP == 0:
                    self._sweep(name)
                return result

    def _find_last(self, name: str) -> _Version:
        """From what we know, version by version; from a listing, where that is too old."""
        last = self._known.get(name)
        if last is None or self._clock() - last.seen >= _FRESH:
            last = self._list_last(name)
        while True:
            asked = self._clock()
            if (content := self._read(name, last.number + 1)) is None:
                break
            last = _Version(last.number + 1, content, asked)
        self._known[name] = last = _Version(last.number, last.content, asked)
        return last

    def _list_last(self, name: str) -> _Version:
        while True:
            asked = self._clock()
            number = max(
                (int(entry.stem) for entry in self._store.entries(f"{_FOLDER}/{name}")), default=0
            )
            if number == 0:
                return _Version(0, b"", asked)
            if (
                content := self._read(name, number)
            ) is not None:  # removed meanwhile, where higher ones have come
                return _Version(number, content, asked)

    def _read(self, name: str, number: int) -> bytes | None:
        try:
            return self._store.read(_name(name, number))
        except FileNotFoundError:
            return None

    def _sweep(self, name: str) -> None:
        """Ages are differences of the store's own times."""
        entries = self._store.entries(f"{_FOLDER}/{name}")
        newest = max(entry.modified for entry in entries)
        for entry in entries:
            if entry.modified < newest - _GRACE:
                self._store.delete(entry.name)


def _name(document: str, number: int) -> str:
    return f"{_FOLDER}/{document}/{number:012d}.json"
