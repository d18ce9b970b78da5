"""Sketches of a built environment: what its tools were seen to reply becomes what they give on."""

from typing import Any

import pytest

from envmill.sandbox import Sandbox
from envmill.toolgraph.audit import audit_graph
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.evidence.tables import TableEvidence
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.sketching import infer_schema, sketch_environment
from envmill.toolgraph.weaving import weave
from schemas.database import Column, Table
from schemas.environment import Tool
from tests.samples.sql import load, play_oracle


async def test_a_sample_is_walked_by_what_it_was_seen_to_reply(jail: Sandbox) -> None:
    folder, replies = load("hotel"), dict[str, list[Any]]()
    for scenario in folder.scenarios:
        for deed in (await play_oracle(jail, folder, scenario)).deeds:
            replies.setdefault(deed.call.name, []).extend(
                part["value"] for part in deed.parts if part["type"] == "json"
            )
    sketches = sketch_environment(folder.environment, replies)
    assert any(sketch.outputs for sketch in sketches)
    graph = await weave(sketches, [NameEvidence(), TableEvidence()], folder.environment.tables)
    assert audit_graph(graph).unsuppliable == ()
    assert any(
        graph.parameters.all[link.giver].side == "output"
        for found in graph.links.values()
        for link in found
    )
    assert len(sample_chains(graph, SAMPLERS["backward"], 20).chains) == 20


@pytest.mark.parametrize(
    ("values", "schema"),
    [
        ([1, 2.5], {"type": "number"}),
        ([1, "a"], {}),
        ([True, 1], {}),
        ([None, "a"], {"type": "string"}),
        ([], {}),
        ([[1], []], {"type": "array", "items": {"type": "integer"}}),
        (
            [{"a": 1}, {"a": 2, "b": None}],
            {
                "type": "object",
                "properties": {"a": {"type": "integer"}, "b": {}},
                "required": ["a"],
            },
        ),
    ],
)
def test_a_schema_is_what_all_values_are(values: list[Any], schema: dict[str, Any]) -> None:
    assert infer_schema(values) == schema


def describe(name: str, *ids: str, reads: tuple[str, ...] = ()) -> Tool:
    parameters = {
        "type": "object",
        "properties": {each: {"type": "string"} for each in ids},
        "required": list(ids),
    }
    return Tool(
        name=name,
        description="",
        parameters=parameters,
        effect="change",
        reads=list(reads),
        writes=[],
    )


async def test_an_id_under_another_name_is_known_by_columns_or_by_the_only_table() -> None:
    """Of a reviewer who stands in `staff`; of the account that another one pays to. Between two
    tables nobody knows."""
    staff = Table(name="staff", key=["id"], columns=[Column(name="id"), Column(name="name")])
    tasks = Table(
        name="tasks",
        key=["id"],
        columns=[Column(name="id"), Column(name="reviewer_id", references="staff.id")],
    )
    tools = [
        describe("review_task", "task_id", "reviewer_id", reads=("staff", "tasks")),
        describe("stand_in", "staff_id", "target_id", reads=("staff",)),
        describe("hand_over", "owner_id", reads=("staff", "tasks")),
    ]
    environment = load("hotel").environment.model_copy(
        update={"tables": [staff, tasks], "tools": tools}
    )
    graph = await weave(
        sketch_environment(environment, {}), [NameEvidence(), TableEvidence()], environment.tables
    )
    meant = {
        f"{tools[one.owner].name}.{one.path}": one.words
        for side in graph.parameters.inputs
        for one in side
    }
    assert meant["review_task.reviewer_id"] == ("staff", "id")
    assert meant["stand_in.target_id"] == ("staff", "id")
    assert meant["review_task.task_id"] == ("task", "id")
    assert meant["hand_over.owner_id"] == ("owner", "id")
