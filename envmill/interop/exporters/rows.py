"""Rows of an exported table, read or made while they are written."""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Generic, TypeVar, overload

from schemas.pair import Pair
from schemas.rollout import Trajectory
from schemas.scenario import Scenario, Split
from schemas.stored import StoredRows, order

SPLITS: tuple[Split, ...] = ("train", "validation", "test")
T = TypeVar("T")
R = TypeVar("R", Scenario, Trajectory, Pair)


class MadeRows(Sequence[T], Generic[T]):
    """A sequence of `count` rows that are made again at each iteration."""

    def __init__(self, count: int, make: Callable[[], Iterator[T]]) -> None:
        self._count, self._make = count, make

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[T]:
        return self._make()

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, int):
            return next(islice(self._make(), range(self._count)[place], None))
        return [*self._make()][place]


def group_by_split(rows: Sequence[R]) -> dict[str, Sequence[R]]:
    """Rows by split, in the order of ids."""
    found: dict[Split, list[R]] = {}
    if isinstance(rows, StoredRows):
        ids: dict[Split, set[str]] = {}
        for one in rows:
            ids.setdefault(one.split, set()).add(one.id)
        return {split: rows.keep(ids[split]) for split in SPLITS if split in ids}
    for one in order(rows):
        found.setdefault(one.split, []).append(one)
    return {split: found[split] for split in SPLITS if split in found}
