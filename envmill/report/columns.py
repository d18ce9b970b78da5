"""A long list by columns: texts that repeat are named once and numbered."""

from collections.abc import Iterable, Sequence
from typing import Any

from schemas.base import Json


def pack_columns(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> Json:
    """`{"count": rows, "columns": {name: values, or {"of": texts, "is": numbers}}}`."""
    columns = [_Column() for _ in names]
    count = 0
    for row in rows:
        count += 1
        for column, value in zip(columns, row, strict=True):
            column.add(value)
    return {
        "count": count,
        "columns": {name: column.pack() for name, column in zip(names, columns, strict=True)},
    }


class _Column:
    def __init__(self) -> None:
        self._numbers: dict[Any, int] = {}
        self._is: list[int] = []
        self._of: list[Any] = []

    def add(self, value: Any) -> None:
        number = self._numbers.setdefault((type(value), value), len(self._of))
        if number == len(self._of):
            self._of.append(value)
        self._is.append(number)

    def pack(self) -> Json:
        if len(self._of) * 2 > len(self._is):
            return [self._of[number] for number in self._is]
        return {"of": self._of, "is": self._is}
