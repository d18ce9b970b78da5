"""What a filter's value is held to be in a row: a listed value is whole, a text that is looked for
may be a part."""

import pytest

from envmill.gates.exploring.filters import Filter
from schemas.base import Json
from tests.gates.specimens import ground

TOOL = next(tool for tool in ground().environment.tools if tool.name == "list_classes")


@pytest.mark.parametrize(
    ("value", "held", "listed", "met"),
    [
        pytest.param("Tuesday", "Tuesday", True, True, id="the same"),
        pytest.param("tuesday", " Tuesday", True, True, id="in another case"),
        pytest.param("Tues", "Tuesday", True, False, id="a part of a listed value"),
        pytest.param("Tues", "Tuesday", False, True, id="a part of a text"),
        pytest.param("Tuesday", ["Friday", "Tuesday"], True, True, id="one of several"),
        pytest.param("Tuesday", "Friday", False, False, id="another"),
        pytest.param("Tuesday", None, False, False, id="nothing"),
    ],
)
def test_a_row_shows_a_value(value: str, held: Json, listed: bool, met: bool) -> None:
    assert Filter(TOOL, "day", frozenset({"day"}), listed).is_met({"day": held}, value) is met
