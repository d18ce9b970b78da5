"""The canonical format agrees with the records', and what JSON cannot carry is refused by its
path."""

import enum
from collections import OrderedDict
from typing import Any

import pytest

from envmill.runtime.canonical import MAX_DEPTH, NotJson, fingerprint, plain, render
from schemas.base import canonical_json, digest


class Colour(str, enum.Enum):  # noqa: UP042  # what generated programs write
    RED = "red"


VALUES = [
    pytest.param({}, id="empty"),
    pytest.param({"b": 1, "a": [True, None, 1.5, -0.0, 1e16, 1e-7, 2**60]}, id="numbers"),
    pytest.param({"ü": '日本 \u2028 \\ " \n', "a\x7f": "😀"}, id="text"),
    pytest.param({"z": {"y": {"x": [[], {}]}}, "A": 0, "a": 1}, id="nested"),
]


@pytest.mark.parametrize("value", VALUES)
def test_agrees_with_the_records_text_and_hash(value: Any) -> None:
    assert render(plain(value)).decode() == canonical_json(value)
    assert fingerprint(render(plain(value))) == digest(value, 32)


def test_subclasses_and_tuples_become_exact_types() -> None:
    copy = plain(OrderedDict(colour=Colour.RED, pair=(1, 2)))
    assert copy == {"colour": "red", "pair": [1, 2]}
    assert type(copy) is dict
    assert type(copy["colour"]) is str


def test_the_copy_is_detached() -> None:
    row = {"n": [1]}
    copy = plain(row)
    row["n"].append(2)
    assert copy == {"n": [1]}


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth - 1):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "words"),
    [
        pytest.param({"a": {"b": {1, 2}}}, "at a.b: a value of type set", id="set"),
        pytest.param({"a": [0, {"b": float("inf")}]}, "at a.1.b: NaN and infinity", id="infinity"),
        pytest.param({"a": {1: "x"}}, "at a: the key 1 is of type int", id="key"),
        pytest.param([2**63], "at 0: an integer outside 64 bits", id="integer"),
        pytest.param(b"x", "bytes", id="bytes"),
        pytest.param(nested(MAX_DEPTH + 1), f"nested deeper than {MAX_DEPTH}", id="depth"),
    ],
)
def test_what_is_not_json_is_named(value: Any, words: str) -> None:
    with pytest.raises(NotJson) as fault:
        plain(value)
    assert words in str(fault.value)


def test_depth_just_allowed() -> None:
    assert plain(nested(MAX_DEPTH)) == nested(MAX_DEPTH)


def test_size_and_surrogates_are_refused() -> None:
    assert render("x" * 8, 10) == b'"xxxxxxxx"'
    with pytest.raises(NotJson, match="more than the 10 allowed"):
        render("x" * 9, 10)
    with pytest.raises(NotJson, match="surrogate"):
        render("\ud800")
