"""What decoding a frame would cost is known before it is decoded."""

import json

import pytest

from envmill.runtime.jail.allowance import MOST_BYTES, MOST_PIECES, FrameBudget, count_pieces, is_deeper
from envmill.runtime.jail.wire import BadFrame, read_strictly


@pytest.mark.parametrize("piece", ["{},", '{"":0},', "[],", "0,", '"ab",'])
def test_a_frame_of_very_many_pieces_is_refused(piece: str) -> None:
    with pytest.raises(BadFrame):
        count_pieces(f"[{piece * (MOST_PIECES + 1)}0]".encode())


def test_a_state_of_a_hundred_thousand_rows_is_not() -> None:
    row = {f"column_{number}": number for number in range(8)}
    assert count_pieces(json.dumps({"rows": {str(number): row for number in range(100_000)}}).encode()) < MOST_PIECES


def test_texts_may_hold_any_signs() -> None:
    text = json.dumps(['{[,\\"' * (MOST_PIECES // 2)])
    assert count_pieces(text.encode()) == 1


def test_texts_without_end_are_not_looked_at() -> None:
    with pytest.raises(BadFrame):
        count_pieces(b'["' + b'","' * (4 * MOST_PIECES))


def test_a_request_has_an_end() -> None:
    allowance = FrameBudget()
    allowance.renew()
    frame = bytes(1 << 20)
    for _ in range(MOST_BYTES >> 20):
        allowance.spend(frame)
    with pytest.raises(BadFrame):
        allowance.spend(frame)
    allowance.renew()
    allowance.spend(frame)


@pytest.mark.parametrize(("value", "levels"), [(1, 0), ([], 1), ({}, 1), ([[], 1], 2), ({"a": [{"b": 1}], "c": 1}, 3)])
def test_levels(value: object, levels: int) -> None:
    assert not is_deeper(value, levels)
    assert levels == 0 or is_deeper(value, levels - 1)


@pytest.mark.parametrize("text", ["9223372036854775808", "-9223372036854775809", "1" * 4000, '{"a": [12345678901234567890123]}'])
def test_integers_beyond_64_bits_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        read_strictly(text.encode())


@pytest.mark.parametrize("text", ["9223372036854775807", "-9223372036854775808", '"4111111111111111111111"', "1.234567890123456789012"])
def test_others_are_not(text: str) -> None:
    assert read_strictly(text.encode()) == json.loads(text)
