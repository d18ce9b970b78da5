"""A reply rendered at once says what the long way says, or is left to it."""

import enum
import json
import math
import uuid
from collections import OrderedDict, namedtuple
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

import orjson
import pytest

from envmill.runtime.blob import Blob, BlobStore
from envmill.runtime.canonical import NotJson
from envmill.runtime.jail import wire
from envmill.runtime.jail.fragments import make_fragment
from envmill.runtime.reply import parts_of


@pytest.fixture(autouse=True)
def _codec() -> Iterator[None]:
    """As in the factory's own jail; afterwards as it was."""
    before = wire._codec, wire.embed, wire.render_strictly
    wire.adopt_codec("orjson")
    yield
    wire._codec, wire.embed, wire.render_strictly = before


class Colour(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    HI = "hi"


@dataclass
class Row:
    name: str


class Text(str):
    __slots__ = ()


Pair = namedtuple("Pair", "one two")  # what a model writes
ODD: list[Any] = [
    math.nan, math.inf, -math.inf, 2**53, 2**53 + 1, 2**63 - 1, 2**63, 2**64, -(2**63), -(2**63) - 1, 10**400, 0.0, -0.0, 1e16, 5e-324,
    "", "null", "é\u2028", "\ud800", "\x00\x1f\x7f", None, True, (), (1, (2,)), [], {}, {1: 2}, {None: 1}, {Text("k"): Text("v")},
    Text("t"), Word.HI, Colour.RED, uuid.UUID(int=7), datetime(2026, 3, 1, tzinfo=UTC), Row("r"), Pair(1, 2), OrderedDict(a=1), {1, 2},
    frozenset(), b"b", bytearray(b"b"), memoryview(b"b"), 1j, ..., StopIteration, object(), "x" * 200_000, ["y"] * 70, [[]] * 70,
    Blob(b"b", "text/plain"), range(3), "g123456\xf0\x7f",
]  # fmt: skip


def say(value: Any, *, quickly: bool) -> tuple[bytes, str]:
    """What would travel, or why nothing does."""
    try:
        parts = parts_of(value, BlobStore(), make_fragment if quickly else None)
    except NotJson as fault:
        return b"", str(fault)
    # What came by the one way is read before both are rendered alike.
    return orjson.dumps(json.loads(orjson.dumps(parts)), option=orjson.OPT_SORT_KEYS), ""


def nest(levels: int) -> Any:
    value: Any = 1
    for level in range(levels):
        value = {"k": value} if level % 2 else [value]
    return value


@pytest.mark.parametrize(
    "wrap", [lambda one: {"k": one}, lambda one: [one], lambda one: {"a": [{"b": one}], "n": None}]
)
def test_odd_values_come_out_the_same(wrap: Any) -> None:
    for odd in ODD:
        assert say(wrap(odd), quickly=True) == say(wrap(odd), quickly=False), repr(odd)[:80]


def test_depth_is_bounded_alike() -> None:
    for levels in (1, 62, 63, 64, 65, 66, 120, 300):
        assert say(nest(levels), quickly=True) == say(nest(levels), quickly=False), levels


def test_random_values_come_out_the_same() -> None:
    dice = Random(5)

    def draw(depth: int) -> Any:
        kind = dice.randrange(8 if depth else 5)
        if kind < 4:
            return dice.choice(
                (
                    dice.random() * 10 ** dice.randrange(-300, 300),
                    dice.getrandbits(dice.randrange(1, 66)),
                    "null",
                    "lé",
                    None,
                )
            )
        if kind == 4:
            return dice.choice(ODD)
        return (
            {f"k{place}": draw(depth - 1) for place in range(4)}
            if dice.random() < 0.5
            else [draw(depth - 1) for _ in range(4)]
        )

    for _ in range(400):
        value = {"k": draw(2)}
        assert say(value, quickly=True) == say(value, quickly=False)


def test_usual_replies_take_the_short_way_and_doubtful_ones_do_not() -> None:
    assert make_fragment({"id": "r1", "price": 1.5, "tags": ["a", None]}) is not None
    for doubtful in (
        {"n": math.nan},
        {"n": 2**63},
        {"n": (Word.HI,)},
        nest(65),
        {"n": "x" * 200_000},
        {1: 1},
    ):
        assert make_fragment(doubtful) is None


def test_without_a_codec_that_can_copy_there_is_no_short_way() -> None:
    wire.adopt_codec("json")
    assert wire.embed is None
