"""Requests in a thousand wordings, which say what the structure says and nothing else.

A frame is a sentence with everything in it masked that comes from the structure: fields of phrases;
once more with whole orders masked, so that what is left are the words the grammar put around them.
News are sentences of their own: their words are never masked.
"""

import re
import sys
from collections import Counter
from collections.abc import Callable
from itertools import pairwise

import pytest

from offline.dice import make_dice
from offline.wording import Piece, compose_request, render_value, write_request
from offline.wording.grammar import load_registers
from tests.offline.wishes import draw_wishes, list_requests
from tests.soak import count

REQUESTS = count(1_000, 5_000)
MOST_FRAME, MOST_OPENING = 0.03, 0.05


def mask_fields(piece: Piece) -> str:
    return re.sub(r"\{[^}]*\}", "#", piece.template)


def mask_orders(piece: Piece) -> str:
    return "#" if piece.sort == "ask" else mask_fields(piece)


def split(text: str) -> list[str]:
    """Sentences and lines without their number or bullet."""
    lines = (re.sub(r"^([-*•]+|\(?\w[.)]) ", "", line) for line in text.split("\n"))
    return [sentence for line in lines for sentence in re.split(r"(?<=[.?!]) ", line)]


def find_commonest(
    mask: Callable[[Piece], str], cut: Callable[[str], set[str]]
) -> tuple[str, float]:
    """The frame that most requests hold, and their share. One without any word is no frame."""
    found = Counter[str]()
    for pieces, _ in list_requests(REQUESTS):
        found.update(each for each in cut("".join(map(mask, pieces))) if re.search(r"[a-z]", each))
    frame, times = found.most_common(1)[0]
    return frame, times / REQUESTS


@pytest.mark.long
@pytest.mark.soak(area="author")
@pytest.mark.parametrize("mask", [mask_fields, mask_orders], ids=["fields_masked", "orders_masked"])
def test_no_sentence_frame_covers_more_than_three_in_a_hundred_requests(
    mask: Callable[[Piece], str],
) -> None:
    frame, share = find_commonest(mask, lambda text: set(split(text)))
    sys.stdout.write(f"commonest frame of {REQUESTS} requests: {share:.4f} {frame!r}\n")
    assert share <= MOST_FRAME, frame


@pytest.mark.long
@pytest.mark.parametrize(
    "mask",
    [mask_fields, mask_orders, lambda piece: piece.text],
    ids=["fields_masked", "orders_masked", "as_read"],
)
def test_no_first_four_words_open_more_than_five_in_a_hundred_requests(
    mask: Callable[[Piece], str],
) -> None:
    opening, share = find_commonest(mask, lambda text: {" ".join(text.split()[:4])})
    assert share <= MOST_OPENING, opening


@pytest.mark.long
@pytest.mark.soak(area="author")
def test_numbers_digits_and_capitalised_words_masked_by_sight_give_the_same_answer() -> None:
    """As somebody would measure who knows nothing of the structure: every name, number and day gone
    from the text as it is read."""

    def mask(piece: Piece) -> str:
        return re.sub(r"(?<=[a-z,] )([A-Z][\w'.-]*\s?)+|[\w-]*\d[\w./:-]*", "#", piece.text)

    frame, share = find_commonest(mask, lambda text: set(split(text)))
    sys.stdout.write(f"commonest frame of {REQUESTS} requests: {share:.4f} {frame!r}\n")
    assert share <= MOST_FRAME, frame


def test_every_plain_value_is_said_and_every_wish_is_said_once() -> None:
    for pieces, wishes in list_requests(300):
        said = [piece for piece in pieces if piece.sort != "frame"]
        text = "".join(piece.text for piece in pieces)
        assert len(said) == len(wishes)
        for wish in wishes:
            for parameter in wish.operation.takes:
                value = render_value(wish.arguments[parameter.name])
                assert parameter.row or re.search(rf"(?<!\w){re.escape(value)}(?!\w)", text), (
                    value,
                    text,
                )


def test_frames_hold_no_number_of_their_own_but_how_many_wishes_there_are() -> None:
    words = ("two", "three", "four", "five", "six", "seven", "eight")
    for pieces, wishes in list_requests(300):
        for frame in (piece.text for piece in pieces if piece.sort == "frame"):
            assert not re.search(r"\d", re.sub(r"1st|(^|\n)\(?\d[.)] ", "", frame)), frame
            counted = re.search(
                r"\b(\w+) (things|points|items|entries|changes|jobs|updates|bits of work)\b",
                frame.lower(),
            )
            if counted and counted[1] in words:
                assert counted[1] == words[len(wishes) - 2], frame


def test_texts_are_clean() -> None:
    for pieces, _ in list_requests(REQUESTS):
        text = "".join(piece.text for piece in pieces)
        assert not re.search(r"[{}<>]|\bNone\b|  |\.\.|\.,|[?!]\.|,,|: :|^\s|\s$", text), text
        assert text[0].isupper() or not text[0].isalpha(), text


@pytest.mark.parametrize("wishes", range(1, 9))
def test_any_number_of_wishes_is_worded_in_many_ways(wishes: int) -> None:
    domain, state, drawn = draw_wishes(wishes - 1 + 8)
    assert len(drawn) == wishes
    texts = {write_request(drawn, domain, state, make_dice("many", number)) for number in range(60)}
    assert len(texts) >= 58


def test_registers_differ_in_how_much_they_leave_to_be_understood() -> None:
    shares = {each.name: each.implicit for each in load_registers()}
    assert len(shares) >= 6
    assert min(shares.values()) <= 0.15
    assert max(shares.values()) >= 0.85
    told = sum(piece.sort == "tell" for pieces, _ in list_requests(300) for piece in pieces)
    asked = sum(piece.sort == "ask" for pieces, _ in list_requests(300) for piece in pieces)
    assert 0.2 <= told / (told + asked) <= 0.6


def test_wishes_keep_their_order_unless_the_words_say_which_comes_first() -> None:
    reversing = re.compile(r"before|first|only after", re.IGNORECASE)
    for number in range(count(150, 1_000)):
        domain, state, wishes = draw_wishes(number)
        pieces = compose_request(wishes, domain, state, make_dice("order", number))
        phrases = {
            phrase: place
            for place, wish in enumerate(wishes)
            for phrase in (*wish.operation.asks, *wish.operation.tells)
        }
        if len(phrases) < sum(
            len(wish.operation.asks) + len(wish.operation.tells) for wish in wishes
        ):
            continue
        places = [
            phrases[key]
            for piece in pieces
            if piece.sort != "frame"
            if (key := find_key(piece.template, phrases))
        ]
        turned = any(one > other for one, other in pairwise(places))
        assert not turned or reversing.search(
            "".join(piece.text for piece in pieces if piece.sort == "frame")
        )


def find_key(template: str, phrases: dict[str, int]) -> str:
    return next(each for each in phrases if each[1:] == template[1:])
