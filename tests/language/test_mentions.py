"""Whether an opening already says what it hides."""

import pytest

from envmill.language.mentions import is_told
from schemas.base import Json


@pytest.mark.parametrize(
    ("value", "text", "told"),
    [
        pytest.param("45 litres", "I want 120 litres in boxes", False, id="only-the-unit"),
        pytest.param("45 litres", "I want 45 litres in boxes", True, id="the-amount"),
        pytest.param(
            "24 March 2026", "from 2 March 2026 to 3 March 2026", False, id="only-month-and-year"
        ),
        pytest.param("24 March 2026", "until 24 March 2026", True, id="the-day"),
        pytest.param("2026-03-24", "until 24 March 2026", True, id="a-date-in-words"),
        pytest.param("A-2001", "about appointment A-2002", False, id="another-number"),
        pytest.param("Lena Achleitner", "for Lena Achleitner, please", True, id="a-name"),
        pytest.param("Lena Achleitner", "for Lena, please", False, id="half-a-name"),
        pytest.param(
            "14 March",
            "one of our games at 14:00, and move us to Sunday 15 March at 13:00",
            False,
            id="an-hour-is-no-day",
        ),
        pytest.param(
            "14 March",
            "14 people want to come, and we would like to move to 15 March",
            False,
            id="words-far-apart",
        ),
        pytest.param("14 March", "on 14 March", True, id="a-day-without-a-year"),
        pytest.param(
            "14 March", "on March the 14th, or rather 14 of March", True, id="in-another-order"
        ),
        pytest.param(
            "blue canvas bag", "the bag, a blue one of canvas", True, id="words-near-each-other"
        ),
        pytest.param(3, "three boxes", True, id="a-number-in-words"),
        pytest.param(
            "SL-1",
            "book the sledge that I have chosen for 1 March",
            False,
            id="the-number-of-a-code-alone",
        ),
        pytest.param("SL-1", "book the sledge SL-1 for 1 March", True, id="a-code"),
        pytest.param("K5", "fill kiln K5 again", True, id="a-short-code"),
    ],
)
def test_a_shared_part_does_not_tell_a_value(value: Json, text: str, told: bool) -> None:
    assert is_told(value, text) is told
