"""A forged observation is refused before anybody reads it, and an honest one is not."""

from typing import Any

import pytest

from envmill.runtime.jail import claims
from envmill.runtime.jail.operations import EMPTY
from envmill.runtime.jail.reading import StateReading
from envmill.runtime.jail.wire import BadFrame, Message


def check(observations: Any) -> list[Message]:
    return claims.check(observations, StateReading())


FULL: Message = EMPTY | {
    "parts": [
        {"type": "text", "text": "a"},
        {"type": "json", "value": None},
        {"type": "blob", "hash": "ab" * 32, "media_type": "a/b", "size": 1},
    ],
    "state": '{"a":[1]}',
    "uses": {"ids": 3},
    "notifications": [{"at": "x", "actor": "agent", "text": "t"}],
    "delay": 0.5,
    "weather": ["delay"],
    "denied": ["openat"],
}


@pytest.mark.parametrize(
    "observations", [pytest.param([], id="none"), pytest.param([EMPTY, FULL], id="each field")]
)
def test_what_has_the_form_passes(observations: list[Message]) -> None:
    assert check(observations) == observations


@pytest.mark.parametrize(
    "change",
    [
        {"outcome": "superb"}, {"outcome": ["ok"]}, {"parts": {}}, {"parts": [7]}, {"parts": [{"type": "json"}]}, {"parts": [{"type": []}]},
        {"parts": [{"type": "text", "text": 7}]}, {"parts": [{"type": "picture", "text": ""}]}, {"state_hash": []},
        {"code": None}, {"message": 1},
        {"state": 7}, {"state": "{"}, {"state": "[]"}, {"state": "\ud800"}, {"uses": {"ids": "many"}}, {"notifications": ["now"]},
        {"parts": [{"type": "text", "text": "a", "more": 1}]}, {"parts": [{"type": "blob", "hash": "../../../etc/passwd"}]},
        {"parts": [{"type": "blob", "hash": "ab" * 32, "media_type": "a/b", "size": -1}]},
        {"parts": [{"type": "blob", "hash": "ab" * 32, "media_type": "<script>", "size": 1}]},
        {"code": "x" * 81}, {"message": "x" * 70_000}, {"state_hash": "<script>"}, {"state_hash": "a" * 33}, {"surplus": 1},
        {"uses": {"ids": -(10**30)}}, {"uses": {"ids": 10**30}}, {"uses": {"luck": 1}}, {"delay": 1e300}, {"delay": 10**30},
        {"notifications": [{}]}, {"notifications": [{"at": "x", "actor": "agent", "text": "t" * 2001}]},
        {"notifications": [{"at": "x", "actor": "agent", "text": "t", "more": 1}]},
        {"notifications": [{"at": "x", "actor": "agent", "text": "t"}] * 1001}, {"weather": ["x" * 81]}, {"denied": ["x"] * 2000},
        {"delay": True}, {"uses": {"ids": True}}, {"parts": [{"type": "blob", "hash": "ab" * 32, "media_type": "a/b", "size": True}]},
        {"delay": -1}, {"delay": float("inf")}, {"delay": float("nan")}, {"delay": "long"}, {"weather": "rain"}, {"denied": [1]},
    ],
    ids=lambda change: str(change)[:60],
)  # fmt: skip
def test_what_has_not_is_refused(change: Message) -> None:
    with pytest.raises(BadFrame):
        check([FULL | change])


def test_what_says_nothing_but_its_parts_passes() -> None:
    said: Message = {"parts": [{"type": "json", "value": {"a": 1}}]}
    assert check([said]) == [EMPTY | said]


@pytest.mark.parametrize(
    "parts",
    [7, "a", {"type": "json"}, {"0": {"type": "json", "value": 1}}, [7], [[]], [{}], [{"type": "json"}], [{"type": "text", "text": 7}],
     [{"type": []}], [{"type": "picture", "value": 1}], [{"type": "blob", "hash": None}],
     [{"type": "blob", "hash": "../x", "media_type": "a/b", "size": 1}], [{"type": "text", "text": "", "more": 1}]],
    ids=str,
)  # fmt: skip
def test_parts_alone_are_looked_at_no_less(parts: Any) -> None:
    with pytest.raises(BadFrame):
        check([{"parts": parts}])


@pytest.mark.parametrize(
    ("told", "passes"),
    [("ab" * 16, True), ("<script>", False), ("ab" * 17, False), (7, False), ([], False)],
)
def test_a_hash_beside_parts_alone_is_looked_at(told: Any, passes: bool) -> None:
    said: Message = {"parts": [{"type": "json", "value": 1}], "state_hash": told}
    if passes:
        assert check([said]) == [EMPTY | said]
    else:
        with pytest.raises(BadFrame):
            check([said])


@pytest.mark.parametrize("field", list(EMPTY))
def test_what_is_left_out_is_as_in_an_empty_one(field: str) -> None:
    assert check([{name: value for name, value in FULL.items() if name != field}]) == [
        FULL | {field: EMPTY[field]}
    ]


@pytest.mark.parametrize("frame", [7, "ok", {"outcome": "ok"}, [7], ["ok"], [None], [[]]], ids=str)
def test_observations_are_a_list_of_objects(frame: Any) -> None:
    with pytest.raises(BadFrame):
        check(frame)


@pytest.mark.parametrize(("levels", "refused"), [(64, False), (900, True)])
@pytest.mark.parametrize("sign", ["[]", "{}"])
def test_depth_is_counted(levels: int, refused: bool, sign: str) -> None:
    value: Any = 1
    for _ in range(levels):
        value = [value] if sign == "[]" else {"a": value}
    observations = [EMPTY | {"parts": [{"type": "json", "value": value}]}]
    if refused:
        with pytest.raises(BadFrame):
            claims.check_depth(observations)
    else:
        claims.check_depth(observations)


def test_many_rows_are_not_deep() -> None:
    claims.check_depth([EMPTY | {"parts": [{"type": "json", "value": [{"a": [1]}] * 5000}]}])


def test_a_state_too_deep_is_refused_and_one_of_the_deepest_allowed_is_not() -> None:
    StateReading().check('{"a":' + "[" * 63 + "]" * 63 + "}")
    with pytest.raises(BadFrame):
        StateReading().check('{"a":' + "[" * 900 + "]" * 900 + "}")
