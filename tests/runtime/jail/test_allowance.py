"""What decoding a frame would cost is known before it is decoded."""

import json
import random
import re
import tracemalloc

import pytest

from envmill.runtime.jail import allowance
from envmill.runtime.jail.allowance import (
    MOST_BYTES,
    MOST_PIECES,
    FrameBudget,
    count_pieces,
    is_deeper,
)
from envmill.runtime.jail.wire import BadFrame, read_strictly


@pytest.mark.parametrize("piece", ["{},", '{"":0},', "[],", "0,", '"ab",'])
def test_a_frame_of_very_many_pieces_is_refused(piece: str) -> None:
    with pytest.raises(BadFrame):
        count_pieces(f"[{piece * (MOST_PIECES + 1)}0]".encode())


def test_a_state_of_a_hundred_thousand_rows_is_not() -> None:
    row = {f"column_{number}": number for number in range(8)}
    assert (
        count_pieces(json.dumps({"rows": {str(number): row for number in range(100_000)}}).encode())
        < MOST_PIECES
    )


def test_texts_may_hold_any_signs() -> None:
    text = json.dumps(['{[,\\"' * (MOST_PIECES // 2)])
    assert count_pieces(text.encode()) == 1


def test_texts_without_end_are_not_looked_at() -> None:
    with pytest.raises(BadFrame):
        count_pieces(b'["' + b'","' * (4 * MOST_PIECES))


def test_strings_are_left_out_without_a_list_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Found by the fuzzer: taking them out at once took 1.2 GB for a frame of 60 MB."""
    monkeypatch.setattr(allowance, "MOST_PIECES", 400_000)
    payload = b'["ab' + b'","ab' * 390_000 + b'"]' + b'"' + b"{" * 20_000 + b'"'
    tracemalloc.start()
    try:
        assert count_pieces(payload) == 390_001
        assert tracemalloc.get_traced_memory()[1] < 2 * len(payload)
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("seed", range(20))
def test_runs_of_strings_count_as_strings_do(monkeypatch: pytest.MonkeyPatch, seed: int) -> None:
    short = re.compile(allowance._RUN.pattern.replace(b"8192", b"3"), re.DOTALL)  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(allowance, "_RUN", short)
    rng = random.Random(seed)
    for _ in range(500):
        payload = bytes(rng.choice(b'"\\,[{a') for _ in range(rng.randrange(60)))
        left = allowance._STRING.sub(b"", payload)  # pyright: ignore[reportPrivateUsage]
        assert allowance._count_outside(payload) == allowance._count(left), payload  # pyright: ignore[reportPrivateUsage]


def test_a_request_has_an_end() -> None:
    budget = FrameBudget()
    budget.renew()
    frame = bytes(1 << 20)
    for _ in range(MOST_BYTES >> 20):
        budget.spend(frame)
    with pytest.raises(BadFrame):
        budget.spend(frame)
    budget.renew()
    budget.spend(frame)


@pytest.mark.parametrize(
    ("value", "levels"), [(1, 0), ([], 1), ({}, 1), ([[], 1], 2), ({"a": [{"b": 1}], "c": 1}, 3)]
)
def test_levels(value: object, levels: int) -> None:
    assert not is_deeper(value, levels)
    assert levels == 0 or is_deeper(value, levels - 1)


@pytest.mark.parametrize(
    "text",
    ["9223372036854775808", "-9223372036854775809", "1" * 4000, '{"a": [12345678901234567890123]}'],
)
def test_integers_beyond_64_bits_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="JSON"):
        read_strictly(text.encode())


@pytest.mark.parametrize(
    "text",
    [
        "9223372036854775807",
        "-9223372036854775808",
        '"4111111111111111111111"',
        "1.234567890123456789012",
    ],
)
def test_others_are_not(text: str) -> None:
    assert read_strictly(text.encode()) == json.loads(text)
