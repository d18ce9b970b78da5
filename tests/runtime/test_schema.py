"""The subset of JSON Schema: what passes, what fails, and in which words."""

from typing import Any

import pytest

from envmill.runtime.schema import check_schema, find_fault

BOOK = {
    "type": "object",
    "properties": {
        "title": {"type": "string", "minLength": 1, "maxLength": 5},
        "copies": {"type": "integer"},
        "price": {"type": "number"},
        "lent": {"type": "boolean"},
        "tags": {"type": "array", "items": {"type": "string"}},
        "note": {"type": ["string", "null"]},
        "shelf": {"type": "string", "enum": ["A", "B"]},
        "extra": {"type": "object"},
    },
    "required": ["title"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param({"title": "Moby"}, id="required-only"),
        pytest.param(
            {
                "title": "Moby",
                "copies": 0,
                "price": 1,
                "lent": False,
                "tags": [],
                "note": None,
                "shelf": "A",
            },
            id="all",
        ),
        pytest.param(
            {"title": "Moby", "price": 1.5, "note": "x", "tags": ["a"], "extra": {"any": [1]}},
            id="others",
        ),
    ],
)
def test_passes(arguments: dict[str, Any]) -> None:
    assert find_fault(BOOK, arguments) == ""


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        pytest.param({}, "arguments lacks the required 'title'", id="missing"),
        pytest.param({"title": ""}, "arguments.title must have at least 1 characters", id="short"),
        pytest.param(
            {"title": "Moby D"}, "arguments.title must have at most 5 characters", id="long"
        ),
        pytest.param(
            {"title": "M", "copies": True},
            "arguments.copies must be integer, not boolean",
            id="bool-is-no-integer",
        ),
        pytest.param(
            {"title": "M", "price": False},
            "arguments.price must be number, not boolean",
            id="bool-is-no-number",
        ),
        pytest.param(
            {"title": "M", "copies": 1.5},
            "arguments.copies must be integer, not number",
            id="fraction-is-no-integer",
        ),
        pytest.param(
            {"title": "M", "price": float("nan")},
            "arguments.price must be number, not float",
            id="nan",
        ),
        pytest.param(
            {"title": "M", "lent": 1},
            "arguments.lent must be boolean, not integer",
            id="integer-is-no-bool",
        ),
        pytest.param(
            {"title": "M", "tags": ["a", 1]},
            "arguments.tags[1] must be string, not integer",
            id="item",
        ),
        pytest.param(
            {"title": "M", "note": 3},
            "arguments.note must be string or null, not integer",
            id="union",
        ),
        pytest.param(
            {"title": "M", "shelf": "C"}, "arguments.shelf must be one of 'A', 'B'", id="enum"
        ),
        pytest.param({"title": None}, "arguments.title must be string, not null", id="null"),
        pytest.param(
            {"title": "M", "author": "x"},
            "arguments has no parameter 'author'; known: title, copies",
            id="unknown",
        ),
        pytest.param([], "arguments must be object, not array", id="no-object"),
    ],
)
def test_fault_in_one_line(arguments: Any, fault: str) -> None:
    found = find_fault(BOOK, arguments)
    assert found.startswith(fault)
    assert "\n" not in found


def test_enum_tells_true_from_one() -> None:
    assert find_fault({"enum": [1]}, True)
    assert not find_fault({"enum": [1]}, 1)


@pytest.mark.parametrize(
    "schema",
    [
        pytest.param({"type": "string", "pattern": "a+"}, id="pattern"),
        pytest.param({"type": "text"}, id="type"),
        pytest.param({"type": "array", "items": {"anyOf": []}}, id="nested"),
        pytest.param({"type": "object", "properties": {"a": {"$ref": "#"}}}, id="property"),
        pytest.param("string", id="no-object"),
    ],
)
def test_a_schema_outside_the_subset_is_refused(schema: Any) -> None:
    check_schema(BOOK)
    with pytest.raises(ValueError, match=r"JSON Schema|must be an object"):
        check_schema(schema)
