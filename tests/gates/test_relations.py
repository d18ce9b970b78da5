"""Searches by another case: of a name people expect it, a reference they copy. Filters by which rows are told otherwise."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from envmill.gates.exploring.observations import ExplorationRun
from envmill.gates.exploring.relations import filters_are_subsets, searches_find_parts
from schemas.environment import Call


def search(text: str, *found: str) -> Any:
    parts = [{"type": "json", "value": [{"id": key} for key in found]}]
    call = Call(name="find_rows", arguments={"status": "open", "text": text})
    return SimpleNamespace(why="search", call=call, seen=SimpleNamespace(outcome="ok", parts=parts))


@pytest.mark.parametrize(
    ("text", "reasons"),
    [
        ("P-205", []),
        ("HA 12/7", []),
        ("B231", []),
        ("Ada Kern", ["case_sensitive"]),
        ("Wheel 2", ["case_sensitive"]),
        ("RAKU", ["case_sensitive"]),
    ],
)
def test_a_name_is_found_in_either_case_and_a_reference_need_not_be(text: str, reasons: list[str]) -> None:
    stops = [search(text, "R1"), search(text, "R1"), search(text.swapcase())]
    tour = SimpleNamespace(tools={"find_rows": SimpleNamespace(name="find_rows")}, of=lambda _: stops)
    assert [breach.reason for breach in searches_find_parts(cast(Any, None), cast(ExplorationRun, tour))] == reasons


def narrow(rows: list[dict[str, Any]], **arguments: str) -> Any:
    call = Call(name="find_masters", arguments={**arguments})
    return SimpleNamespace(why="filter", call=call, seen=SimpleNamespace(outcome="ok", parts=[{"type": "json", "value": rows}]))


ALL = [{"master_id": "G1", "name": "Ottilie", "busy": False}, {"master_id": "G2", "name": "Rafael", "busy": False}]


@pytest.mark.parametrize(
    ("part", "reasons"),
    [
        pytest.param([{"master_id": "G1", "name": "Ottilie", "busy": True}], [], id="what-is-worked-out-for-the-filter-differs"),
        pytest.param([{"master_id": "G3", "name": "Noor", "busy": False}], ["filter_widens"], id="another-row"),
        pytest.param([{"master_id": "G1", "name": "Ottilie"}, {"master_id": "G1", "name": "Noor"}], ["filter_widens"], id="no-key"),
        pytest.param([{"name": "Ottilie", "busy": True}], ["filter_widens"], id="rows-without-a-key"),
        pytest.param([{"master_id": "S01", "name": "Noor", "busy": False}], [], id="the-row-that-is-asked-for"),
        pytest.param(
            [{"master_id": "S01", "name": "Noor", "busy": False}, {"master_id": "G3", "name": "Abe", "busy": False}],
            ["filter_widens"],
            id="another-row-beside-the-one-asked-for",
        ),
    ],
)
def test_a_filter_may_tell_rows_otherwise_and_no_other_rows(part: list[dict[str, Any]], reasons: list[str]) -> None:
    stops = [narrow(ALL), narrow(part, session="S01")]
    tool = SimpleNamespace(
        name="find_masters", description="Masters.", effect="query", parameters={"properties": {"session": {"type": "string"}}}
    )
    tour = SimpleNamespace(tools={tool.name: tool}, of=lambda _: stops)
    assert [breach.reason for breach in filters_are_subsets(cast(Any, None), cast(ExplorationRun, tour))] == reasons
