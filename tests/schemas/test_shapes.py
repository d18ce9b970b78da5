"""Shapes: a record cannot change unseen, and rows of every past version stay readable."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import pytest
from pydantic import BaseModel

from schemas.base import Record, canonical_json
from schemas.reference import render
from schemas.shapes import PAST, UPGRADES, Row, Shape, shape_of, upgrade, version_of
from schemas.tables import TABLES

_KNOWN = Path(__file__).with_name("shapes.json")
_ROOT = Path(__file__).parents[2]


def render_columns(shape: Shape) -> list[str]:
    return [f"{column.name}: {column.type}{'?' if column.nullable else ''}" for column in shape]


@pytest.mark.parametrize("table", TABLES)
def test_a_changed_record_has_a_new_version(table: str) -> None:
    """When this fails on purpose: raise schema_version, add PAST and UPGRADES, then renew
    shapes.json with ids.json."""
    known = json.loads(_KNOWN.read_text())[table]
    record = TABLES[table]
    assert {"version": version_of(record), "columns": render_columns(shape_of(record))} == known


@pytest.mark.parametrize("table", TABLES)
def test_every_past_version_has_a_shape_and_a_way_up(table: str) -> None:
    for version in range(1, version_of(TABLES[table])):
        assert (table, version) in PAST
        assert (table, version) in UPGRADES


def test_an_old_row_climbs_every_step() -> None:
    steps: dict[tuple[str, int], Callable[[Row], Row]] = {
        ("things", 1): lambda row: {**row, "size": 0},
        ("things", 2): lambda row: {key: value for key, value in row.items() if key != "colour"},
    }
    old = {"id": "x", "schema_version": 1, "colour": "red"}
    assert upgrade("things", 1, old, 3, steps) == {"id": "x", "schema_version": 3, "size": 0}
    assert upgrade("things", 2, old | {"size": 4}, 3, steps) == {
        "id": "x",
        "schema_version": 3,
        "size": 4,
    }


@pytest.mark.parametrize("table", TABLES)
def test_ids_are_the_same_on_every_machine_and_python(table: str) -> None:
    known = json.loads(_KNOWN.with_name("ids.json").read_text())
    assert make_example(TABLES[table]).id == known[table]


def test_the_documentation_is_what_the_code_says() -> None:
    assert (_ROOT / "docs" / "tables.md").read_text() == render(), "run `make docs`"


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_a_json_schema_with_descriptions(table: str) -> None:
    schema = TABLES[table].model_json_schema()
    assert all(field.get("description") for field in schema["properties"].values())


def make_example(record: type[Record]) -> Record:
    """A record with a fixed value for every type."""
    return record.model_validate(
        {
            name: _value(info.annotation)
            for name, info in record.model_fields.items()
            if _is_given(name)
        }
    )


def _is_given(name: str) -> bool:
    return name not in ("id", "schema_version")


def _value(annotation: Any) -> Any:
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return arguments[0]
    if origin is list:
        return [_value(arguments[0])]
    if origin is dict:
        return {"k": _value(arguments[1])}
    if arguments:
        return _value(arguments[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return {name: _value(info.annotation) for name, info in annotation.model_fields.items()}
    return {str: "ü", int: 7, float: 0.1, bool: True}.get(annotation, {"b": [1, None], "a": "ü"})


def renew() -> None:
    """`python -c "from tests.schemas.test_shapes import renew; renew()"`, after a change on
    purpose."""
    shapes = {
        table: {"version": version_of(record), "columns": render_columns(shape_of(record))}
        for table, record in TABLES.items()
    }
    _KNOWN.write_text(json.dumps(shapes, indent=1) + "\n")
    ids = {table: make_example(record).id for table, record in TABLES.items()}
    _KNOWN.with_name("ids.json").write_text(json.dumps(ids, indent=1) + "\n")


def test_examples_differ_where_content_differs() -> None:
    ids = [make_example(record).id for record in TABLES.values()]
    assert len(set(ids)) == len(ids)
    assert canonical_json(_value(float)) == "0.1"
