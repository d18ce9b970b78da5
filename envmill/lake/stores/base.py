"""The store: names and bytes, and the one primitive the lake stands on, put-if-absent."""

import asyncio
import uuid
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Protocol, TypeVar

from envmill.base.errors import LakeError

T = TypeVar("T")
U = TypeVar("U")


@dataclass(frozen=True, slots=True)
class StoredFile:
    """One file of a folder, as a listing shows it."""

    name: str
    """Path below the store's root, with slashes."""
    size: int
    modified: float
    """Seconds since 1970 by the store's clock, which need not be ours."""

    @property
    def stem(self) -> str:
        return self.name.rpartition("/")[2].rpartition(".")[0]


class Store(Protocol):
    """What the lake needs of a disk or an object store. Names are relative, with slashes."""

    url: str
    whole_listing: int
    """A folder of up to so many files is listed as it was at one moment; a larger one may be seen
    while it changes."""
    at_once: int
    """Requests worth having in flight."""

    def put_if_absent(self, name: str, content: bytes) -> bool:
        """Publish whole and durable, or not at all; False when somebody was first."""
        ...

    def entries(self, folder: str, start: str = "") -> list[StoredFile]:
        """Published files directly in a folder whose names start so, by name; none when there is no such folder."""
        ...

    def folders(self, folder: str) -> list[str]:
        """Names of the folders directly in a folder."""
        ...

    def states(self, folder: str, before: float | None = None) -> dict[str, str]:
        """Name → state of each folder directly in a folder: another one as soon as a name in it comes or goes. Where states are times of
        change, one after `before` (by the store's clock) is empty: another change may have the same."""
        ...

    def read(self, name: str) -> bytes:
        """The whole file; FileNotFoundError when it is gone."""
        ...

    def delete(self, name: str) -> None:
        """Remove a file; one that is gone already is fine."""
        ...

    def sweep(self, before: float) -> int:
        """Remove what killed writers left half-written before that time, by the store's clock."""
        ...

    def locate(self, name: str) -> str:
        """Path or URL that DuckDB and pyarrow can open."""
        ...


def split(
    entries: Iterable[StoredFile], size: int, count: int | None = None
) -> Iterator[list[StoredFile]]:
    """Lots of files that are read, and held in memory, together: each of a size that one more file would not have exceeded before."""
    lot: list[StoredFile] = []
    for entry in entries:
        lot.append(entry)
        if len(lot) == count or sum(one.size for one in lot) >= size:
            yield lot
            lot = []
    if lot:
        yield lot


def ask_each(store: Store, ask: Callable[[T], U], items: Iterable[T]) -> list[U]:
    """Answers in order, as many questions in flight as the store is worth."""
    if store.at_once == 1:
        return [ask(item) for item in items]
    with ThreadPoolExecutor(store.at_once) as pool:
        return list(pool.map(ask, items))


async def ask_aside(store: Store, question: Callable[[], T]) -> T:
    """Ask without blocking the event loop, where the store lies across a network."""
    return question() if store.at_once == 1 else await asyncio.to_thread(question)


def probe(store: Store) -> None:
    """Refuse a store that lets two writers publish the same name, or does not list what was just written."""
    name = f"_probe/{uuid.uuid4().hex}"
    try:
        first, second = store.put_if_absent(name, b"first"), store.put_if_absent(name, b"second")
        kept, listed = (
            store.read(name),
            any(entry.name == name for entry in store.entries("_probe")),
        )
    finally:
        store.delete(name)
    if (first, second, kept) != (True, False, b"first"):
        raise LakeError(
            f"{store.url} has no put-if-absent: a second writer replaced the first one's file. "
            "Keep the lake on a local disk, or on an S3 service that honours `If-None-Match: *`."
        )
    if not listed:
        raise LakeError(
            f"{store.url} lists late: a file that was just written is not in its listing, so that finished work would be done and "
            "paid again. Keep the lake on a local disk, or on an S3 service that lists what it has, as S3 itself does."
        )


def read_clock(store: Store) -> float:
    """What time it is for the store: ages are differences of its own times, whatever our clock
    says."""
    name = f"_probe/{uuid.uuid4().hex}"
    try:
        store.put_if_absent(name, b"")
        return next(entry.modified for entry in store.entries("_probe") if entry.name == name)
    finally:
        store.delete(name)
