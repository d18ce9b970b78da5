"""The narrow dialect of schemas: closed, complete, or given up."""

import json

import pytest

from envmill.models.structured import narrow
from schemas.base import Contract, Json
from schemas.prompts import BlueprintReply, ProgramReply, ScenarioReply, TestsReply


class Leaf(Contract):
    name: str
    size: int | None = None


class Tree(Contract):
    leaves: list[Leaf]
    best: Leaf
    pair: tuple[int, str] = (0, "")


class Flat(Contract):
    leaves: list[Leaf]
    best: Leaf
    """The best."""


class Loop(Contract):
    inner: "Loop | None" = None


class AnyValue(Contract):
    value: Json


class Open(Contract):
    rows: dict[str, int]


class Empty(Contract):
    pass


class Loose(Contract, extra="allow"):
    name: str


def walk(schema: Json) -> list[Json]:
    found = [schema] if isinstance(schema, dict) else []
    parts = schema.values() if isinstance(schema, dict) else schema if isinstance(schema, list) else ()
    return found + [one for part in parts for one in walk(part)]


@pytest.mark.parametrize("record", [Flat, Leaf, ProgramReply])
def test_every_object_is_closed_and_all_of_it_required(record: type[Contract]) -> None:
    schema = narrow(record)
    assert schema is not None
    objects = [one for one in walk(schema) if one.get("type") == "object"]
    assert objects
    assert all(one["additionalProperties"] is False and one["required"] == list(one["properties"]) for one in objects)
    spelled = json.dumps(schema)
    assert not any(word in spelled for word in ("$ref", "$defs", '"default"', '"title"'))


@pytest.mark.parametrize("record", [Loop, AnyValue, Open, Empty, Loose, Tree, BlueprintReply, ScenarioReply, TestsReply])
def test_what_the_dialect_cannot_say_is_given_up(record: type[Contract]) -> None:
    assert narrow(record) is None
