"""Tables of an environment of kind `sql`: columns, keys, and what an end state has to agree on."""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, leave_out

Policy = Literal["hard", "exempt", "semantic", "tolerance"]
Sort = Literal["key", "text", "prose", "whole", "decimal"]
"""What a column holds, as a tool speaks of it: `prose` is a text that may be worded otherwise."""


class Column(Contract):
    """One stored column. What is usual is left out when written."""

    name: str
    """Column name."""
    type: str = ""
    """Type it is declared with."""
    policy: Policy = "hard"
    """`hard`: equal. `exempt`: nobody minds; of a key it says that the key is given on the way.
    `semantic`: prose, compared by its
    wording only where the request fixes it. `tolerance`: within so much."""
    tolerance: float = Field(default=0.0, ge=0.0)
    """How far a value may be from the one that is wanted."""
    references: str = ""
    """`table.column` it refers to."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(write(self), "tolerance", "references")


class Table(Contract):
    """One table."""

    name: str
    """Table name."""
    key: list[str]
    """Columns of its primary key, in order."""
    columns: list[Column]
    """Stored columns, in order."""


class Touch(Contract):
    """Tables a tool may read and write."""

    reads: list[str] = []
    """Tables it may read."""
    writes: list[str] = []
    """Tables it may write."""


class Mention(Contract):
    """One column that a tool speaks of."""

    of: str
    """`table.column`; the key of every table is its `id`."""
    sort: Sort
    """What it holds."""
    refers: str = ""
    """Table whose key it holds; empty where it is a value like any other."""
    empty: bool = False
    """Whether it may be null: unknown, or a reference to nobody."""
    unique: bool = False
    """Whether no two rows hold the same."""
    values: list[str] = []
    """All texts that it may hold; empty where any text is allowed."""
    least: int | None = None
    """Least number that it may hold."""

    @model_serializer(mode="wrap")
    def _write(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        return leave_out(
            write(self),
            "empty",
            "unique",
            "values",
            *(() if self.least is not None else ("least",)),
        )


class Promise(Contract):
    """What a tool takes, looks at and leaves behind: tables are derived from all of these
    together."""

    takes: dict[str, Mention] = {}
    """Parameter → the column that it selects rows by; parameters that are mere values are left
    out."""
    looks_at: list[Mention] = []
    """Columns that it gives back, or that decide whether it refuses."""
    sets: list[Mention] = []
    """Columns that it writes."""
    makes: list[str] = []
    """Tables that get a new row."""
    requires: list[str] = []
    """What must hold before, as short statements."""
    ensures: list[str] = []
    """What holds afterwards, as short statements that others' `requires` repeat word for word."""

    @property
    def mentions(self) -> list[Mention]:
        """All columns that it speaks of."""
        return [*self.takes.values(), *self.looks_at, *self.sets]
