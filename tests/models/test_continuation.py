"""Two parts of one reply are joined without guessing."""

import pytest

from envmill.models.continuation import join

WHOLE = (
    '{"source": "def lend(tool, member):\\n    return tool", "class_name": "Shed", "length": 12}'
)


@pytest.mark.parametrize("cut", range(1, len(WHOLE), 7))
def test_a_reply_cut_anywhere_is_whole_again(cut: int) -> None:
    assert join(WHOLE[:cut], WHOLE[cut:]) == WHOLE


@pytest.mark.parametrize("cut", range(20, len(WHOLE) - 2, 11))
def test_words_said_again_are_said_once(cut: int) -> None:
    assert join(WHOLE[:cut], WHOLE[cut - 15 :]) == WHOLE


@pytest.mark.parametrize("cut", [15, 40, 80])
def test_a_second_beginning_is_taken_for_the_reply(cut: int) -> None:
    assert join("Here: " + WHOLE[:cut], WHOLE) == WHOLE


def test_a_fence_that_is_opened_again_is_left_out() -> None:
    assert join("```json\n" + WHOLE[:30], "```json\n" + WHOLE[30:]) == "```json\n" + WHOLE


def test_a_few_letters_that_agree_by_chance_are_kept() -> None:
    assert join('{"a": "xx', 'xx"}') == '{"a": "xxxx"}'


def test_an_object_inside_goes_on() -> None:
    head, tail = '{"rows": [{"id": 1}, ', '{"id": 2}]}'
    assert join(head, tail) == head + tail
