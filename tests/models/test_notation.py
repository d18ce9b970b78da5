"""Schemas in the short notation: nothing that a reader of the JSON schema knows is lost, and what
may be left out is marked."""

from collections.abc import Iterator
from typing import Any, Literal

import pytest
from pydantic import Field

from envmill.models.notation import render_reply, render_type
from envmill.models.structured import make_schema, render_schema
from flows.cli.prompt import collect_prompts
from schemas.base import Contract, canonical_json

REPLIES = {
    prompt.gives.__name__: prompt.gives for _, prompt in collect_prompts().values() if prompt.gives
}


class Part(Contract):
    kind: Literal["part"] = "part"
    size: int = Field(default=1, ge=1, le=10)
    """How large."""


class Whole(Contract):
    name: str
    parts: list[Part | str] = Field(default=[])
    notes: dict[str, list[int]] = Field(default={})
    colour: Literal["red", "blue"] | None = None
    extra: dict[str, Any] = Field(default={})


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({"type": "string"}, "string"),
        ({}, "any"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"enum": ["a", 1]}, '"a" | 1'),
        ({"type": "array", "items": {"type": "integer"}}, "integer[]"),
        ({"type": "array", "items": {"enum": ["a", "b"]}, "minItems": 1}, '("a" | "b")[] (minItems 1)'),
        ({"type": "object"}, "object"),
        ({"type": "object", "properties": {}, "additionalProperties": False}, "{}"),
        ({"type": "object", "additionalProperties": {"type": "number"}}, "{[key]: number}"),
        ({"type": "integer", "minimum": 0, "maximum": 23}, "integer (minimum 0, maximum 23)"),
        ({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "boolean", "default": True}}, "required": ["a"]},
         "{a: string, b?: boolean = true}"),
        ({"type": "object", "properties": {"a": {"type": "string", "description": "Why."}}, "required": ["a"]},
         "{\n  a: string,  // Why.\n}"),
    ],
)  # fmt: skip
def test_a_schema_is_rendered(schema: dict[str, Any], text: str) -> None:
    assert render_type(schema) == text


def test_what_a_tuple_can_do_without_is_marked() -> None:
    pair: dict[str, Any] = {
        "type": "array",
        "prefixItems": [{"type": "string"}, {"type": "object"}],
    }
    assert [render_type(pair), render_type(pair | {"minItems": 1})] == [
        "[string, object]",
        "[string, object?]",
    ]
    assert (
        render_type({"type": "array", "items": {"type": "string"}, "minItems": 1})
        == "string[] (minItems 1)"
    )


def test_a_reply_is_rendered_with_its_parts() -> None:
    assert render_reply(Whole).split("\n") == [
        "{",
        "  name: string,",
        "  parts?: (Part | string)[],",
        "  notes?: {[key]: integer[]},",
        '  colour?: "red" | "blue" | null,',
        "  extra?: object,",
        "}",
        "Part = {",
        '  kind: "part",',
        "  size?: integer (minimum 1, maximum 10) = 1,  // How large.",
        "}",
    ]


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_every_fact_of_a_reply_s_schema_stands_in_the_notation(reply: type[Contract]) -> None:
    text, schema = render_reply(reply), make_schema(reply)
    for part in (schema, *schema.get("$defs", {}).values()):
        for name, field in part.get("properties", {}).items():
            optional = name not in part.get("required", []) and "const" not in field
            assert f"{name}{'?' if optional else ''}: " in text
            assert field.get("description", "") in text or "const" in field
            assert [
                value for value in list_values(field) if canonical_json(value) not in text
            ] == []
    assert len(text) < len(render_schema(reply))


def list_values(field: dict[str, Any]) -> Iterator[Any]:
    """Everything in a field that limits its values."""
    yield from field.get("enum", ())
    yield from (
        field[word]
        for word in ("const", "minimum", "maximum", "minItems", "minLength", "pattern")
        if word in field
    )
    for part in (*field.get("anyOf", ()), field.get("items", {})):
        yield from list_values(part) if part else ()
