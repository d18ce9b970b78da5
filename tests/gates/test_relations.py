"""Searches by another case: of a name people expect it, a reference they copy."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from envmill.gates.relations import searches_find_parts
from envmill.gates.stops import Tour
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
    assert [breach.reason for breach in searches_find_parts(cast(Any, None), cast(Tour, tour))] == reasons
