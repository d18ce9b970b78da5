"""Readers of tool lists: what comes of each kind of document, and that nothing of it is lost
without a word."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import SettingsError
from envmill.interop.importers.tools import TOOL_LISTS
from envmill.interop.importers.tools.base import ToolHarvest, make_name
from envmill.interop.importers.tools.openapi import find_route_entity, find_route_places
from envmill.toolgraph.drawing import sample_chains
from envmill.toolgraph.evidence.naming import NameEvidence
from envmill.toolgraph.partition import find_domains
from envmill.toolgraph.samplers import SAMPLERS
from envmill.toolgraph.weaving import weave
from schemas.sketch import ToolSketch

PETS = """
openapi: 3.0.3
info: {title: Pet Shop, version: 1.0.0, license: {name: MIT}}
paths:
  /pets/{petId}:
    parameters:
      - {name: petId, in: path, required: true, schema: {type: integer, minimum: 1, exclusiveMinimum: true}}
      - {name: X-Trace, in: header, schema: {type: string}}
    get:
      operationId: getPet
      summary: One pet.
      responses:
        200: {content: {application/json: {schema: {$ref: '#/components/schemas/Pet'}}}}
        404: {description: gone}
    put:
      deprecated: true
      requestBody:
        required: true
        content: {application/json; charset=utf-8: {schema: {$ref: '#/components/schemas/Pet'}}}
      responses: {204: {description: done}}
      callbacks: {changed: {}}
  /pets/{petId}/photo:
    post:
      operationId: addPhoto
      requestBody: {required: true, content: {image/png: {schema: {type: string, format: binary}}}}
      responses: {}
  /pets:
    get:
      operationId: listPets
      parameters: [{name: born, in: query, schema: {type: string, format: date, pattern: '^2', example: 2020-01-01}}]
      responses: {default: {content: {application/json: {schema: {type: array, items: {$ref: '#/components/schemas/Pet'}}}}}}
    post:
      operationId: searchPets
      requestBody: {content: {application/json: {schema: {$ref: 'other.yaml#/Query'}}}}
components:
  schemas:
    Pet:
      allOf:
        - {type: object, required: [id], properties: {id: {type: integer, readOnly: true}}}
        - type: object
          required: [name]
          properties:
            name: {type: string, nullable: true}
            mother: {$ref: '#/components/schemas/Pet'}
            owner: {oneOf: [{type: string}, {type: integer}]}
"""
OLD: dict[str, Any] = {
    "swagger": "2.0",
    "info": {"title": "Store"},
    "securityDefinitions": {"key": {"type": "apiKey"}},
    "paths": {
        "/stores/{id}/orders": {
            "post": {
                "operationId": "placeOrder",
                "parameters": [
                    {
                        "name": "id",
                        "in": "path",
                        "required": True,
                        "type": "string",
                        "description": "Which store.",
                    },
                    {
                        "name": "order",
                        "in": "body",
                        "required": True,
                        "schema": {"$ref": "#/definitions/Order"},
                    },
                ],
                "responses": {
                    "201": {"description": "ok", "schema": {"$ref": "#/definitions/Order"}}
                },
            }
        },
        "/upload": {
            "post": {
                "parameters": [
                    {"name": "file", "in": "formData", "type": "file", "required": True}
                ],
                "responses": {},
            }
        },
    },
    "definitions": {
        "Order": {
            "type": "object",
            "required": ["id"],
            "properties": {"id": {"type": "string"}, "day": {"type": "date"}},
        }
    },
}
NEW: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Till", "license": {"identifier": "Apache-2.0", "name": "Apache"}},
    "webhooks": {"paid": {}},
    "paths": {
        "/receipts": {
            "get": {
                "operationId": "reset",
                "responses": {
                    "2XX": {
                        "content": {"application/json": {"schema": {"type": ["string", "null"]}}}
                    }
                },
            }
        }
    },
}
TOOLS: dict[str, Any] = {
    "tools": [
        {
            "name": "list-tickets",
            "description": "Tickets of a queue.",
            "inputSchema": {
                "type": "object",
                "properties": {"queue": {"$ref": "#/$defs/Q"}},
                "$defs": {"Q": {"type": "string"}},
            },
            "outputSchema": {
                "type": "object",
                "properties": {
                    "tickets": {
                        "type": "array",
                        "items": {"type": "object", "properties": {"id": {"type": "string"}}},
                    }
                },
            },
            "annotations": {"readOnlyHint": True},
        },
        {
            "name": "close_ticket",
            "inputSchema": {
                "type": "object",
                "properties": {"ticket_id": {"type": "string"}},
                "required": ["ticket_id"],
            },
        },
        {"name": "close_ticket", "inputSchema": {"type": "object"}},
        {"name": "bad", "inputSchema": {"type": "string"}},
        {"inputSchema": {"type": "object"}},
    ],
    "nextCursor": "more",
}


def read(kind: str, folder: Path, **files: Any) -> ToolHarvest:
    for name, content in files.items():
        ending = ".yaml" if isinstance(content, str) else ".json"
        (folder / f"{name}{ending}").write_text(
            content if isinstance(content, str) else json.dumps(content)
        )
    return TOOL_LISTS[kind]([str(folder)])


def codes(harvest: ToolHarvest, weight: str) -> set[tuple[str, str]]:
    return {(one.subject, one.code) for one in harvest.remarks if one.weight == weight}


def by_name(harvest: ToolHarvest) -> dict[str, ToolSketch]:
    return {one.name: one for one in harvest.sketches}


def test_operations_of_a_document(tmp_path: Path) -> None:
    harvest = read("openapi", tmp_path, pets=PETS)
    found = by_name(harvest)
    assert (list(found), harvest.found) == (["get_pet", "put_pets_pet_id", "list_pets"], 5)
    get, put, pets = found.values()
    assert get.inputs["properties"] == {"petId": {"type": "integer", "exclusiveMinimum": 1}}
    assert (get.inputs["required"], get.effect, get.entity, get.licence, get.service) == (
        ["petId"],
        "query",
        "pet",
        "MIT",
        "pet_shop",
    )
    assert get.outputs["properties"]["mother"] == {"type": "object"}
    assert get.outputs["properties"]["name"] == {"type": ["string", "null"]}
    # What a reply alone holds is no argument.
    assert set(put.inputs["properties"]) == {"petId", "name", "mother", "owner"}
    assert (put.inputs["required"], put.effect, put.outputs) == (["petId", "name"], "change", {})
    assert pets.inputs["properties"]["born"] == {"type": "string", "format": "date"}
    assert pets.outputs["properties"]["items"]["items"]["required"] == ["id", "name"]


def test_what_a_document_says_in_vain_is_remarked(tmp_path: Path) -> None:
    harvest = read("openapi", tmp_path, pets=PETS)
    assert codes(harvest, "refused") == {
        ("add_photo", "body"),
        ("search_pets", "foreign_reference"),
        ("put_pets_pet_id", "callback"),
    }
    assert codes(harvest, "changed") == {
        (name, "recursive") for name in ("get_pet", "put_pets_pet_id", "list_pets")
    } | {("list_pets", "keyword")}
    assert {
        ("put_pets_pet_id", "deprecated"),
        ("get_pet", "header"),
        ("put_pets_pet_id", "no_reply"),
    } <= codes(harvest, "noted")


def test_documents_of_the_second_and_the_newest_version(tmp_path: Path) -> None:
    harvest = read("openapi", tmp_path, old=OLD, new=NEW, none={"name": "x"}, broken="a: [")
    found = by_name(harvest)
    order = found["place_order"]
    assert order.inputs["properties"] == {
        "id": {"type": "string", "description": "Which store."},
        "body_id": {"type": "string"},
        "day": {},
    }
    assert (order.inputs["required"], order.entity, order.licence) == (
        ["id", "body_id"],
        "order",
        "unknown",
    )
    assert order.about == {"id": "store"}
    assert found["till_reset"].outputs == {
        "type": "object",
        "properties": {"value": {"type": ["string", "null"]}},
    }
    assert found["till_reset"].licence == "Apache-2.0"
    expected = {
        ("none.json", "not_openapi"),
        ("broken.yaml", "unreadable"),
        ("post_upload", "file"),
        ("till", "webhook"),
    }
    assert codes(harvest, "refused") == expected
    assert {
        ("place_order", "two_of_a_name"),
        ("place_order", "type"),
        ("till_reset", "renamed"),
    } <= codes(harvest, "changed")


def test_a_link_is_followed_where_it_was_named_and_not_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "real.json").write_text(json.dumps(TOOLS))
    (tmp_path / "inside").mkdir()
    (tmp_path / "inside/linked.json").symlink_to(tmp_path / "real.json")
    (tmp_path / "inside/endless.json").symlink_to("/dev/zero")
    (tmp_path / "inside/away").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "inside/pipe.json")
    assert TOOL_LISTS["mcp"]([str(tmp_path / "inside/linked.json")]).sketches
    harvest = TOOL_LISTS["mcp"]([str(tmp_path / "inside")])
    assert (harvest.sketches, codes(harvest, "refused")) == (
        [],
        {(name, "unreadable") for name in ("linked.json", "endless.json", "pipe.json")},
    )


@pytest.mark.parametrize(
    "text",
    ['{"tools": NaN}', '{"tools": "\\ud800"}', "[" + "[]," * 5_000_000 + "[]]"],
    ids=["nan", "half", "many"],
)
def test_what_is_no_json_or_too_much_is_a_remark(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.json").write_text(text)
    assert codes(TOOL_LISTS["mcp"]([str(tmp_path)]), "refused") == {("a.json", "unreadable")}


def test_a_document_that_asks_for_billions_is_cut(tmp_path: Path) -> None:
    """Each schema refers to the next thirty times over; and the same by aliases of YAML."""
    schemas = {
        f"S{level}": {
            "type": "object",
            "properties": {
                f"p{n}": {"$ref": f"#/components/schemas/S{level + 1}"} for n in range(30)
            },
        }
        for level in range(8)
    }
    schemas["S8"] = {"type": "string"}
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/S0"}}}}
    wide = {
        "openapi": "3.0.0",
        "info": {},
        "components": {"schemas": schemas},
        "paths": {"/a": {"post": {"requestBody": body}}},
    }
    laughs = "".join(
        f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 9 if level else ['x'])}]\n"
        for level in range(12)
    )
    bomb = f"openapi: 3.0.0\n{laughs}paths:\n  /b: {{get: {{parameters: *a11, responses: {{}}}}}}\n"
    harvest = read("openapi", tmp_path, wide=wide, bomb=bomb, circle="openapi: &a {paths: *a}\n")
    assert {sketch.name for sketch in harvest.sketches} == {"post_a", "get_b"}
    assert ("post_a", "too_large") in codes(harvest, "changed")
    assert ("circle.yaml", "unreadable") in codes(harvest, "refused")


@pytest.mark.parametrize(
    ("route", "entity", "places"),
    [
        ("/flow_runs/{id}/set_state", "flow run", {"id": "flow run"}),
        ("/shops/{shop}/orders/{id}", "order", {"shop": "shop", "id": "order"}),
        ("/flows/name/{name}", "flow", {"name": "flow"}),
        ("/api/v2/health", "health", {}),
        ("/addresses/{id}/status", "address", {"id": "address"}),
        ("/{tenant}/", "", {}),
    ],
)
def test_a_route_says_what_is_meant(route: str, entity: str, places: dict[str, str]) -> None:
    assert (find_route_entity(route), find_route_places(route)) == (entity, places)


@pytest.mark.parametrize(
    "wrapped",
    [
        TOOLS,
        {"jsonrpc": "2.0", "id": 1, "result": TOOLS},
        [{"tools": TOOLS["tools"][:2]}, {"tools": TOOLS["tools"][2:], "nextCursor": "x"}],
    ],
    ids=["bare", "reply", "pages"],
)
def test_tools_of_a_server(tmp_path: Path, wrapped: Any) -> None:
    harvest = read("mcp", tmp_path, desk=wrapped)
    tickets, close = harvest.sketches
    assert (tickets.name, tickets.entity, tickets.effect, tickets.service) == (
        "list_tickets",
        "ticket",
        "query",
        "desk",
    )
    assert tickets.inputs == {
        "type": "object",
        "properties": {"queue": {"type": "string"}},
        "additionalProperties": False,
    }
    assert (close.effect, close.outputs, harvest.found) == ("unknown", {}, 5)
    assert codes(harvest, "refused") == {
        ("close_ticket", "name_twice"),
        ("bad", "no_schema"),
        ("desk", "nameless"),
    }
    assert {
        ("desk.json", "more_pages"),
        ("desk.json", "no_licence"),
        ("close_ticket", "no_reply"),
    } <= codes(harvest, "noted")
    report = harvest.report("mcp")
    assert (report["found"], report["mapped"], report["counted"]["refused: no_schema"]) == (5, 2, 1)


def test_a_file_that_is_none_of_it(tmp_path: Path) -> None:
    assert codes(read("mcp", tmp_path, x={"a": 1}), "refused") == {("x.json", "not_mcp")}
    with pytest.raises(SettingsError, match="There is nothing at"):
        TOOL_LISTS["mcp"]([str(tmp_path / "nowhere")])


def test_names_of_several_services_bear_theirs(tmp_path: Path) -> None:
    one = {"tools": [{"name": "find", "inputSchema": {"type": "object"}}]}
    harvest = read("mcp", tmp_path, mail=one, shop=one)
    assert [sketch.name for sketch in harvest.sketches] == ["mail_find", "shop_find"]
    assert codes(harvest, "changed") == {("mail_find", "renamed"), ("shop_find", "renamed")}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("getPetById", "get_pet_by_id"),
        ("DBInstance", "db_instance"),
        ("get /a/{b}", "get_a_b"),
        ("3D", "tool_3_d"),
        ("日本", "tool"),
    ],
)
def test_a_name_is_one_that_software_takes(text: str, name: str) -> None:
    assert make_name(text) == name


NAMES = (
    "acm batch codebuild cognito-idp dynamodb ecr events firehose glacier iot-data kinesis kms "
    "lambda mq polly scheduler sdb sns sqs"
)
SERVICES = [*NAMES.split(), "secretsmanager", "stepfunctions", "textract"]


@pytest.fixture(scope="module")
def services() -> ToolHarvest:
    pytest.importorskip("botocore")
    return TOOL_LISTS["botocore"](SERVICES)


def test_real_services_are_read_where_they_are_installed(services: ToolHarvest) -> None:
    found = by_name(services)
    assert {sketch.service for sketch in services.sketches} == set(SERVICES)
    assert len(SERVICES) >= 20
    assert services.found == len(services.sketches) >= 500
    create = found["create_queue"]
    assert (create.effect, create.entity, create.licence, create.service) == (
        "change",
        "queue",
        "Apache-2.0",
        "sqs",
    )
    assert create.inputs["required"] == ["QueueName"]
    assert create.inputs["properties"]["Attributes"]["additionalProperties"]["type"] == "string"
    assert "<" not in create.description
    assert create.outputs["properties"]["QueueUrl"]["type"] == "string"
    assert {"bytes", "recursive", "union", "keyword", "too_deep"} <= {
        one.code for one in services.remarks
    }


async def test_chains_through_real_services_hold(services: ToolHarvest) -> None:
    graph = await weave(services.sketches, [NameEvidence()])
    assert graph.labels[graph.index["create_queue"], graph.index["get_queue_attributes"]] in (
        "strong",
        "weak",
    )
    homes = [
        domain
        for domain in find_domains(graph)
        if {"create_queue", "send_message", "receive_message"} <= set(domain.tools)
    ]
    assert len(homes) == 1
    for name, sampler in SAMPLERS.items():
        assert len(sample_chains(graph, sampler, 20).chains) == 20, name


def test_a_service_that_is_not_there() -> None:
    pytest.importorskip("botocore")
    with pytest.raises(SettingsError, match="no service nosuch"):
        TOOL_LISTS["botocore"](["nosuch"])


def test_without_the_extra_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(SettingsError, match=r"envmill\[services\]"):
        TOOL_LISTS["botocore"](["sqs"])
