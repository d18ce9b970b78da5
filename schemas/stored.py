"""Rows of a table, wherever they lie: in memory, or on disk, where each is read when it is asked for."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Iterator, Sequence
from heapq import merge
from itertools import chain
from typing import Any, Generic, Protocol, Self, TypeVar, cast, overload


class Identified(Protocol):
    """What has an id."""

    @property
    def id(self) -> str: ...


N = TypeVar("N", bound=Identified)
N_co = TypeVar("N_co", covariant=True)


class StoredRows(Sequence[N_co]):
    """Rows on disk, in the order of their ids."""

    ids: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)

    @overload
    def __getitem__(self, place: int) -> N_co: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[N_co]: ...
    def __getitem__(self, place: int | slice) -> N_co | Sequence[N_co]:
        if isinstance(place, int):
            return self.get(self.ids[place])
        return [self.get(name) for name in self.ids[place]]

    @abstractmethod
    def get(self, name: str) -> N_co:
        """The row of an id."""

    @abstractmethod
    def of(self, owner: str) -> Sequence[N_co]:
        """Rows of an owner."""

    @abstractmethod
    def owners(self) -> dict[str, str]:
        """Id → owner."""

    @abstractmethod
    def keep(self, names: Collection[str]) -> Self:
        """Only those of some ids."""

    @abstractmethod
    def where(self, wanted: Callable[[Any], bool]) -> Self:
        """Only those that something holds of."""


class UnitedRows(StoredRows[N]):
    """Rows of several parts as one; of an id that several have, the last one's."""

    def __init__(self, parts: Sequence[StoredRows[N]]) -> None:
        self._homes = {name: place for place, part in enumerate(parts) for name in part.ids}
        self._parts = [
            part.keep({name for name in part.ids if self._homes[name] == place})
            for place, part in enumerate(parts)
        ]
        self.ids = sorted(self._homes)

    def __iter__(self) -> Iterator[N]:
        return merge(*self._parts, key=_name)

    def get(self, name: str) -> N:
        return self._parts[self._homes[name]].get(name)

    def of(self, owner: str) -> Sequence[N]:
        return sorted(chain.from_iterable(part.of(owner) for part in self._parts), key=_name)

    def owners(self) -> dict[str, str]:
        return {name: owner for part in self._parts for name, owner in part.owners().items()}

    def keep(self, names: Collection[str]) -> Self:
        return type(self)([part.keep(names) for part in self._parts])

    def where(self, wanted: Callable[[Any], bool]) -> Self:
        return type(self)([part.where(wanted) for part in self._parts])


M = TypeVar("M", bound=Identified)


class MadeFromRows(StoredRows[N], Generic[N, M]):
    """Rows that are made of others with the same ids, each when it is read."""

    def __init__(self, base: StoredRows[M], make: Callable[[M], N]) -> None:
        self.base, self._make = base, make
        self.ids = base.ids

    def __iter__(self) -> Iterator[N]:
        return map(self._make, self.base)

    def get(self, name: str) -> N:
        return self._make(self.base.get(name))

    def of(self, owner: str) -> Sequence[N]:
        return [*map(self._make, self.base.of(owner))]

    def owners(self) -> dict[str, str]:
        return self.base.owners()

    def keep(self, names: Collection[str]) -> Self:
        return type(self)(self.base.keep(names), self._make)

    def where(self, wanted: Callable[[Any], bool]) -> Self:
        return self.keep({one.id for one in self if wanted(one)})

    def change(self, change: Callable[[N], N]) -> "MadeFromRows[N, M]":
        """The same, each changed when it is read."""
        make = self._make
        return MadeFromRows(self.base, lambda one: change(make(one)))


def _name(one: Identified) -> str:
    return one.id


def unite(parts: Sequence[Sequence[N]]) -> Sequence[N]:
    """Rows of several parts, each once. Those of one part stay where they lie, as do those that all lie on disk."""
    if len(parts) == 1:
        return parts[0]
    stored = [found for part in parts if (found := _find_stored(part)) is not None]
    if len(stored) == len(parts):
        return UnitedRows(stored)
    return tuple({one.id: one for part in parts for one in part}.values())


def _find_stored(rows: object) -> "StoredRows[Any] | None":
    return cast("StoredRows[Any]", rows) if isinstance(rows, StoredRows) else None


def choose(rows: Sequence[N], wanted: Callable[[N], bool]) -> Sequence[N]:
    """Rows that something holds of, where they lie: on disk, or in memory."""
    stored = _find_stored(rows)
    return stored.where(wanted) if stored is not None else tuple(filter(wanted, rows))


def pick(rows: Sequence[N], names: Collection[str]) -> Sequence[N]:
    """Rows of some ids."""
    if (stored := _find_stored(rows)) is not None:
        return stored if all(name in names for name in stored.ids) else stored.keep(names)
    return tuple(one for one in rows if one.id in names)


def order(rows: Sequence[N]) -> Sequence[N]:
    """Rows in the order of their ids."""
    return rows if _find_stored(rows) is not None else sorted(rows, key=lambda one: one.id)


def find_by_id(rows: Sequence[N]) -> Callable[[str], N]:
    """What gives the row of an id."""
    return rows.get if isinstance(rows, StoredRows) else {one.id: one for one in rows}.__getitem__


def find_by_owner(rows: Sequence[N], owner: str) -> Callable[[str], Sequence[N]]:
    """What gives the rows of an owner: the value of a column, by which stored ones are found."""
    if isinstance(rows, StoredRows):
        return rows.of
    found: dict[str, list[N]] = {}
    for one in rows:
        found.setdefault(getattr(one, owner), []).append(one)
    return lambda name: found.get(name, ())


def list_owners(rows: Sequence[N], owner: str) -> dict[str, str]:
    """Id → owner; of stored rows no record is read."""
    if isinstance(rows, StoredRows):
        return rows.owners()
    return {one.id: getattr(one, owner) for one in rows}


def list_ids(rows: Sequence[Identified]) -> Sequence[str]:
    """Ids of rows; of stored ones no record is read."""
    return rows.ids if isinstance(rows, StoredRows) else [one.id for one in rows]
