"""Tables as an author writes them: with a header, so that the names of columns stand once and not
in every row.

{"tools": {"columns": ["id", "status"], "rows": [["tool_1", "free"]]}} ─► {"tools": {"tool_1": {"id": "tool_1", "status": "free"}}}
"""

from typing import Annotated, Any, TypeAlias

from pydantic import BeforeValidator, WithJsonSchema

from schemas.base import Json, is_array, is_object

HEADED: dict[str, Any] = {
    "type": "object",
    "additionalProperties": {
        "type": "object",
        "properties": {
            "columns": {"type": "array", "items": {"type": "string"}},
            "rows": {"type": "array", "items": {"type": "array"}},
        },
        "required": ["columns", "rows"],
    },
}
"""What authors are shown. Records by key are read as well."""


def read_tables(value: Json) -> Json:
    """Table → key → row. A table that is written so already stays as it is."""
    return (
        {name: _read_table(str(name), table) for name, table in value.items()}
        if is_object(value)
        else value
    )


def _read_table(name: str, table: Json) -> Json:
    if (
        not is_object(table)
        or table.keys() != {"columns", "rows"}
        or not (is_array(table["columns"]) and is_array(table["rows"]))
    ):
        return table
    columns: list[Json] = table["columns"]
    found: dict[str, Json] = {}
    for number, row in enumerate(table["rows"], 1):
        if not is_array(row) or len(row) != len(columns):
            raise ValueError(
                f"row {number} of {name} has {len(row) if is_array(row) else 'no'} values for "
                f"{len(columns)} columns"
            )
        if not row or not isinstance(row[0], str) or row[0] in found:
            raise ValueError(
                f"row {number} of {name} begins with {row[:1]}; its first value is an id that no "
                "other row has"
            )
        found[row[0]] = dict(zip(columns, row, strict=True))
    return found


State: TypeAlias = Annotated[dict[str, Json], BeforeValidator(read_tables), WithJsonSchema(HEADED)]
"""Collections or tables of a session's first state."""
Rows: TypeAlias = Annotated[
    dict[str, dict[str, dict[str, Json]]], BeforeValidator(read_tables), WithJsonSchema(HEADED)
]
"""Table → key → row, each checked to be a row."""
