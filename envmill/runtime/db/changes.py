"""A change set: what differs between the rows at the reset and the rows now, table by table and key
by key."""

import base64
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from envmill.runtime.canonical import Json

Row = Mapping[str, Any]


@dataclass(frozen=True)
class RowChange:
    """One row that came, went, or differs. Of a row that differs only what differs is told."""

    table: str
    op: Literal["insert", "delete", "update"]
    key: Row
    before: Row
    after: Row

    def message(self) -> dict[str, Json]:
        """As JSON."""
        return {
            "table": self.table,
            "op": self.op,
            "key": render_row(self.key),
            "before": render_row(self.before),
            "after": render_row(self.after),
        }

    def rows(self) -> Iterator[dict[str, Json]]:
        """As the rows in which any state's changes are told: op, path, before, after; of a changed
        row one for each column."""
        path = [self.table, render_key(list(self.key.values()))]
        if self.op == "insert":
            yield {"path": path, "op": "add", "before": None, "after": render_row(self.after)}
        elif self.op == "delete":
            yield {"path": path, "op": "remove", "before": render_row(self.before), "after": None}
        else:
            for name, value in self.before.items():
                yield {
                    "path": [*path, name],
                    "op": "set",
                    "before": render_value(value),
                    "after": render_value(self.after[name]),
                }


def render_key(values: Sequence[Any]) -> str:
    """A key as a name: itself when it is one text or number, a JSON list when it is of several
    columns."""
    if len(values) == 1 and isinstance(values[0], str | int):
        return str(values[0])
    return json.dumps(
        [render_value(value) for value in values], ensure_ascii=False, separators=(",", ":")
    )


def compare(table: str, key: Row, before: Row | None, after: Row | None) -> RowChange | None:
    """The change from one row to another; None when there is none."""
    if before is None:
        return None if after is None else RowChange(table, "insert", key, {}, after)
    if after is None:
        return RowChange(table, "delete", key, before, {})
    changed = [name for name in before if not same(before[name], after[name])]
    if not changed:
        return None
    return RowChange(
        table,
        "update",
        key,
        {name: before[name] for name in changed},
        {name: after[name] for name in changed},
    )


def same(one: object, other: object) -> bool:
    """Equal in type as well: SQLite keeps 1 and 1.0 apart."""
    return type(one) is type(other) and one == other


def in_order(changes: Iterable[RowChange]) -> list[RowChange]:
    """By table, then key: the order of statements leaves no trace."""
    return sorted(
        changes, key=lambda change: (change.table, [rank(value) for value in change.key.values()])
    )


def rank(value: object) -> tuple[int, Any]:
    """SQLite's order of values of any type."""
    if value is None:
        return (0, 0)
    if isinstance(value, int | float):
        return (1, value)
    return (2, value.encode("utf-8", "surrogatepass")) if isinstance(value, str) else (3, value)


def render_row(row: Row) -> dict[str, Json]:
    """A row as JSON."""
    return {name: render_value(value) for name, value in row.items()}


def render_value(value: object) -> Json:
    """A value as JSON: bytes, which JSON lacks, as an object that says so."""
    return {"$blob": base64.b64encode(value).decode()} if isinstance(value, bytes) else value


def read_value(value: Json) -> Any:
    """A value from JSON."""
    if (
        isinstance(value, dict)
        and (blob := cast("dict[str, Json]", value).get("$blob")) is not None
    ):
        return base64.b64decode(blob)
    return int(value) if isinstance(value, bool) else cast("Any", value)
