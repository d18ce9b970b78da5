"""What a tool returned, as parts: weighed without being rendered where that is safe, and refused
where it cannot be sent."""

import marshal
from typing import Any

import pytest

from envmill.runtime.blob import BlobStore
from envmill.runtime.canonical import MAX_REPLY, NotJson, render
from envmill.runtime.reply import WIDEST, parts_of


@pytest.mark.parametrize(
    "value",
    [
        "ü" * 100,
        "\ue000",
        [0xED] * 20,
        {"k": ["x" * (MAX_REPLY - 100)]},
        "x" * (MAX_REPLY - 2),
        "\x01" * (MAX_REPLY // 6 - 1),
    ],
)
def test_what_can_be_sent_is_a_part(value: Any) -> None:
    (part,) = parts_of(value, BlobStore())
    assert part.get("text", part.get("value")) == value


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("\ud800", id="surrogate"),
        pytest.param({"a": ["\udfff"]}, id="surrogate-deep"),
        pytest.param({"\ud800": 1}, id="surrogate-key"),
        pytest.param("x" * MAX_REPLY, id="large"),
        pytest.param("\x01" * (MAX_REPLY // 6 + 1), id="widest"),
        pytest.param(["\x01" * 9] * (MAX_REPLY // 55), id="widest-list"),
        pytest.param([-(10**17)] * (MAX_REPLY // 19 + 1), id="numbers"),
        pytest.param([None] * (MAX_REPLY // 5 + 1), id="nothing"),
        pytest.param([-1.2345678901234567e-300] * (MAX_REPLY // 25 + 1), id="floats"),
        pytest.param({1, 2}, id="set"),
    ],
)
def test_what_cannot_be_sent_is_refused(value: Any) -> None:
    with pytest.raises(NotJson):
        parts_of(value, BlobStore())


@pytest.mark.parametrize(
    "value",
    [
        "\x01" * 99,
        [None] * 99,
        [False] * 99,
        [-(10**18)] * 99,
        [5e-324] * 99,
        {"\x01": -0.0},
        [[]] * 99,
    ],
)
def test_json_is_at_most_six_times_as_wide(value: Any) -> None:
    assert len(render(value)) <= WIDEST * len(marshal.dumps(value, 2))
