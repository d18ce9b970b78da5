"""What the offline author makes of a document's tools does not depend on the order in which their
properties come."""

import json

import pytest

from offline.documents.things import name_things, read_inputs
from schemas.base import canonical_json
from schemas.database import Column, Table
from schemas.sketch import ToolSketch

BRANCHES = Table(
    name="branches",
    key=["id"],
    columns=[Column(name=name, type="TEXT") for name in ("id", "name", "repository")],
)
PROPERTIES = {
    name: {"type": "string"} for name in ("repository", "name", "tag", "message", "branch_id")
}


@pytest.mark.parametrize("required", [["repository", "name"], ["name", "repository"], []])
def test_a_tool_reads_the_same_before_it_was_stored_as_after(required: list[str]) -> None:
    things = name_things([BRANCHES])
    made = ToolSketch(
        name="create_branch",
        inputs={"type": "object", "properties": PROPERTIES, "required": required},
    )
    stored = ToolSketch.model_validate_json(canonical_json(json.loads(made.model_dump_json())))
    assert [*stored.inputs["properties"]] != [*made.inputs["properties"]]
    read = [list(read_inputs(tool, things["branches"], things)) for tool in (made, stored)]
    assert read[0] == read[1]
    assert [one.path for one in read[0]][: len(required)] == required
