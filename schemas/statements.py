"""Statements on what holds before and after a tool, where they name a column: these can be compared
with what a call does.

"tools.status is free"   "loans.returned_on is null"   "loans.status is not lost or broken"      anything else is prose
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from schemas.base import Json

_STATEMENT = re.compile(
    r"(?P<table>[a-z][a-z0-9_]*)\.(?P<column>[a-z][a-z0-9_]*) is (?P<other>not "
    r")?(?P<values>\S.*?)\.?"
)
_NULL = "null"


@dataclass(frozen=True)
class Statement:
    """What one column of a row holds."""

    table: str
    column: str
    values: tuple[str, ...]
    """As texts; none for `null`."""
    negated: bool = False

    @property
    def place(self) -> str:
        return f"{self.table}.{self.column}"

    def holds(self, value: Json) -> bool:
        """Whether a value is as stated. An empty text counts as null; numbers are compared as they
        are written."""
        met = _render(value) in self.values if self.values else value in (None, "")
        return met is not self.negated


def read_statement(text: str) -> Statement | None:
    """None for prose."""
    found = _STATEMENT.fullmatch(text.strip())
    if found is None:
        return None
    said = found["values"]
    values = () if said == _NULL else tuple(value.strip("'\"`") for value in said.split(" or "))
    return Statement(found["table"], found["column"], values, bool(found["other"]))


def list_statements(texts: Iterable[str]) -> Iterator[Statement]:
    """Those that are no prose."""
    yield from (one for text in texts if (one := read_statement(text)))


def _render(value: Json) -> str:
    whole = isinstance(value, float) and value.is_integer()
    return str(int(value)) if whole else str(value)
