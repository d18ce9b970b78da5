"""Tables of an environment of kind `sql`: columns, keys, and what an end state has to agree on."""

from typing import Any, Literal

from pydantic import Field, SerializerFunctionWrapHandler, model_serializer

from schemas.base import Contract, leave_out

Policy = Literal["hard", "exempt", "semantic", "tolerance"]


class Column(Contract):
    """One stored column. What is usual is left out when written."""

    name: str
    """Column name."""
    type: str = ""
    """Type it is declared with."""
    policy: Policy = "hard"
    """`hard`: equal. `exempt`: nobody minds; of a key it says that the key is given on the way. `semantic`: the same text, spelling aside.
    `tolerance`: within so much."""
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
