"""Numbers in words: those below a thousand are read, and no part of a longer number is."""

import pytest

from envmill.language.mentions import is_told
from envmill.language.numbers import find_numbers


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("eighteen volumes, twenty-three boards and forty two clasps", [18, 23, 42]),
        ("two hundred and five of one hundred twenty", [205, 120]),
        ("twelve", [12]),
        ("two thousand", []),
        ("forty two thousand", []),
        ("two thousand three hundred", []),
        ("a two-seater, an eighteen-volume order and the seventeenth", []),
        ("no one can say which one", []),
        ("three of us and one left", [3, 1]),
    ],
)
def test_a_number_in_words_is_read_whole_or_not_at_all(text: str, values: list[int]) -> None:
    assert [int(one.value) for one in find_numbers(text)] == values


def test_a_fact_may_be_said_in_words() -> None:
    assert is_told(18, "Please bind the eighteen volumes of the order in blue buckram.")
    assert not is_told(18, "Please bind the eighty volumes of the order in blue buckram.")
