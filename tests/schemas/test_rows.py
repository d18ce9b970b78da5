"""Tables with a header: read as rows by key, refused where a row does not fit, and never mistaken
for records."""

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.rows import read_tables
from schemas.table_prompts import RowsReply

HEADED = {"tools": {"columns": ["id", "status"], "rows": [["tool_1", "free"], ["tool_2", None]]}}
BY_KEY = {
    "tools": {
        "tool_1": {"id": "tool_1", "status": "free"},
        "tool_2": {"id": "tool_2", "status": None},
    }
}


def test_a_header_names_the_values_of_each_row() -> None:
    assert (
        RowsReply.model_validate({"rows": HEADED}).rows
        == RowsReply.model_validate({"rows": BY_KEY}).rows
        == BY_KEY
    )


@pytest.mark.parametrize(
    "value",
    [
        BY_KEY,
        {"tools": {}},
        {"tools": {"columns": {"id": "columns"}, "rows": {"id": "rows"}}},
        {"tools": {"columns": ["id"], "rows": [], "more": 1}},
        [],
        None,
    ],
)
def test_what_has_no_header_stays(value: Any) -> None:
    assert read_tables(value) == value


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([["tool_1"]], "row 1 of tools has 1 values for 2 columns"),
        ([["tool_1", "free"], "tool_2"], "row 2 of tools has no values"),
        ([["tool_1", "free"], ["tool_1", "out"]], "row 2 of tools begins with \\['tool_1'\\]"),
        ([[7, "free"]], "row 1 of tools begins with \\[7\\]"),
    ],
)
def test_a_row_that_does_not_fit_its_header_is_told(rows: list[Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        RowsReply.model_validate({"rows": {"tools": {"columns": ["id", "status"], "rows": rows}}})
