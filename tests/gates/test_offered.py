"""Values that somebody knows without being told letter for letter, and near misses."""

from decimal import Decimal
from typing import Any

import pytest

from envmill.gates.reading.given_values import (
    amounts_to,
    is_in_hundredths,
    is_listed,
    is_written_otherwise,
)
from envmill.gates.reading.known_values import KnownValues
from schemas.environment import Tool

STATUS = "Only those with this status: planned, under_way, done. Such as cancelled."
TOOL = Tool(
    name="find_movements",
    description="Find movements. An arrival may be `late`.",
    effect="query",
    parameters={
        "properties": {
            "status": {"anyOf": [{"type": "string"}, {"type": "null"}], "description": STATUS},
            "role": {"anyOf": [{"enum": ["lead", "second"]}, {"type": "null"}]},
            "lines": {
                "type": "array",
                "items": {"type": "object", "properties": {"size": {"enum": [1, 2]}}},
            },
            "hour": {"type": "integer", "description": "From 0 to 23."},
        }
    },
)


@pytest.mark.parametrize(
    ("path", "value", "listed"),
    [
        ("status", "planned", True),
        ("status", "under_way", True),
        ("status", "late", True),
        ("status", "cancelled", False),
        ("status", "moored", False),
        ("role", "lead", True),
        ("role", "third", False),
        ("lines.size", 2, True),
        ("lines.size", 3, False),
        ("hour", 23, False),
        ("pilot", "planned", False),
    ],
)
def test_the_interface_lists_values(path: str, value: Any, listed: bool) -> None:
    assert is_listed(value, TOOL, path) is listed


@pytest.mark.parametrize(
    ("number", "text", "there", "known"),
    [
        (3, "four rooms on the third floor", [], True),
        (2, "four rooms on the third floor", [], False),
        (12, "a dozen eggs", [], True),
        (14, "it comes at 14:00 instead", [], True),
        (14, "it comes at 2 pm instead", [], True),
        (15, "it comes at 14:00 instead", [], False),
        (25, "twenty-five of them", [], True),
        (24, "twenty-five of them", [], False),
        (25000, "25 kg of rye flour", [], True),
        (25000, "25 of rye flour", [], False),
        (5, "one place more than it has now", [4], True),
        (7, "one place more than it has now", [4], False),
        (1130, "a deposit of two months' rent", [565], True),
        (1130, "a deposit of two", [565], False),
        (30, "half of what is there", [60], True),
        (54, "10 % off", [60], True),
        (90, "all that is left of both", [60, 30], True),
    ],
)
def test_an_amount_in_other_words(number: int, text: str, there: list[int], known: bool) -> None:
    assert (
        amounts_to(Decimal(number), KnownValues.of([text], 2026), set(map(Decimal, there))) is known
    )


@pytest.mark.parametrize(
    ("value", "text", "known"),
    [
        ("14:00", "at 2 pm", True),
        ("12:00", "at noon", True),
        ("14:00", "on the second day", False),
        ("Wednesday", "on Wed 4 March", True),
        ("Wednesday", "whenever it suits", False),
        ("Wednesday", "on 4 March 2026", True),
        ("Wednesday", "the visit of 2 March 2026, and the lesson on the usual day", False),
        ("Wednesday", "two days after the visit of 2 March 2026", True),
        ("+45 12 34 56 78", "call 12345678, code +45", False),
        ("+45 12 34 56 78", "call +45 1234 5678", True),
        ("pretzel", "sixty pretzels", True),
        ("pretzel", "sixty rolls", False),
        ("ended", "Her lease ends with that day.", True),
        ("closed", "Please close it.", True),
        ("closed", "Please move it.", False),
        ("red", "I want it read.", False),
    ],
)
def test_a_text_in_another_form(value: str, text: str, known: bool) -> None:
    assert is_written_otherwise(value, KnownValues.of([text], 2026), KnownValues(2026)) is known


@pytest.mark.parametrize(
    ("number", "text", "said"),
    [
        (6000, "I am paying 60 euros.", True),
        (1250, "It is €12.50.", True),
        (6000, "I am paying 59 euros.", False),
        (6000, "I bring 60 apples.", False),
        (60, "I am paying 60 euros.", False),
    ],
)
def test_an_amount_in_hundredths(number: int, text: str, said: bool) -> None:
    assert is_in_hundredths(number, KnownValues.of([text], 2026)) is said
