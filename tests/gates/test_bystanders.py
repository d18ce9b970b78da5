"""A statement without a condition changes rows that nobody named; a change of rows below a named row
is another thing."""

from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import pytest

from envmill.gates.base import EnvironmentCase
from envmill.gates.exploring.bystanders import others_are_left_alone
from envmill.gates.exploring.observations import ExplorationRun
from envmill.verifiers.diff import diff_states
from schemas.environment import Call

ALL = "run('UPDATE requests SET status = ?, got = ?')"
ONE = "run('UPDATE requests SET got = ? WHERE id = ?')"
GROUP = "run('UPDATE requests SET got = ? WHERE blood_group = ?')"
OTHER = "run('UPDATE requests SET forgotten = ?')"
UNIT = {"U1": {"request_id": "R1", "blood_group": "A+"}}
WARD = {"W1": {"name": "North"}}


def find_breaches(code: str, before: Any, after: Any, *called: str) -> list[str]:
    observed = SimpleNamespace(
        before="before",
        after="after",
        call=Call(name="take_back", arguments={str(at): word for at, word in enumerate(called)}),
    )
    exploration = SimpleNamespace(
        states={"before": before, "after": after},
        writes=lambda: [observed],
        diff=lambda _: diff_states(before, after),
    )
    built = SimpleNamespace(environment=SimpleNamespace(files={"m.py": code}))
    return [
        breach.reason
        for breach in others_are_left_alone(
            cast(EnvironmentCase, built), cast(ExplorationRun, exploration)
        )
    ]


def make_rows(column: str, *values: Any, **told: str) -> dict[str, Any]:
    return {f"R{at}": {column: value, **told} for at, value in enumerate(values, 1)}


make_requests = partial(make_rows, "got")


@pytest.mark.parametrize(
    ("statement", "words", "reasons"),
    [
        pytest.param(ALL, {}, ["every_row_changed"], id="no-condition"),
        pytest.param(ALL, {"blood_group": "A+"}, ["every_row_changed"], id="an-equal-word"),
        pytest.param(ONE, {}, ["rows_changed_alike"], id="a-condition"),
        pytest.param(GROUP, {"blood_group": "A+"}, [], id="all-rows-of-a-group"),
        pytest.param(OTHER, {}, ["rows_changed_alike"], id="another-column"),
    ],
)
def test_every_row_is_changed_where_a_unit_means_one(
    statement: str, words: dict[str, str], reasons: list[str]
) -> None:
    before = {"units": UNIT, "requests": make_requests(3, 0, 0, **words)}
    after = {"units": UNIT, "requests": make_requests(2, 2, 2, **words)}
    assert find_breaches(statement, before, after, "U1") == reasons


@pytest.mark.parametrize("called", ["R1", "U1", "D1"])
def test_the_row_is_meant_however_far_it_is_from_what_is_named(called: str) -> None:
    state = {"units": UNIT, "deliveries": {"D1": {"unit_id": "U1"}}}
    before, after = make_requests(3, 0, 0), make_requests(2, 2, 2)
    assert find_breaches(
        ALL, state | {"requests": before}, state | {"requests": after}, called
    ) == ["every_row_changed"]


@pytest.mark.parametrize(
    ("called", "reason"), [("S1", "rows_changed_alike"), ("R1", "every_row_changed")]
)
def test_what_may_be_meant_for_all_rows_is_only_suspected(called: str, reason: str) -> None:
    """A sensor raises the alarm in its room and in all others, and means it; who names a room does
    not."""
    sensors = {"S1": {"room_id": "R1"}}
    before = {"sensors": sensors, "rooms": make_rows("alarm", "off", "off", "off")}
    after = {"sensors": sensors, "rooms": make_rows("alarm", "on", "on", "on")}
    assert find_breaches("run('UPDATE rooms SET alarm = ?')", before, after, called) == [reason]


def test_siblings_change_and_their_parent_was_not_named() -> None:
    """The unit refers to the ward too; a statement without a condition asks for no ward."""
    units = {"U1": {"request_id": "R1", "ward_id": "W1"}}
    before = {"units": units, "wards": WARD, "requests": make_requests(3, 0, 0, ward_id="W1")}
    after = {"units": units, "wards": WARD, "requests": make_requests(2, 2, 2, ward_id="W1")}
    assert find_breaches(ALL, before, after, "U1") == ["every_row_changed"]
    assert find_breaches(ONE, before, after, "U1") == []


def test_rows_below_a_named_row_change_with_it() -> None:
    """Another tool has the statement without a condition, and every request is of this ward."""
    before = {"wards": WARD, "requests": make_requests(2, 4, 3, ward_id="W1")}
    after = {"wards": WARD, "requests": make_requests(5, 5, 5, ward_id="W1")}
    assert find_breaches(ALL, before, after, "W1", "R1") == []


def test_a_single_other_row_is_enough_only_beside_a_statement_without_a_condition() -> None:
    """Else it may be the row that this one is exchanged with."""
    before = {"units": UNIT, "requests": make_requests(3, 0, 2)}
    after = {"units": UNIT, "requests": make_requests(2, 2, 2)}
    assert find_breaches(ONE, before, after, "U1") == []
    assert find_breaches(ALL, before, after, "U1") == ["every_row_changed"]


@pytest.mark.parametrize(
    "code",
    [
        pytest.param('run("UPDATE requests SET got = ?" + where)', id="added"),
        pytest.param('run(f"UPDATE requests SET got = ? {where}")', id="put-in"),
        pytest.param(
            'run(f"UPDATE requests SET got = {got} WHERE blood_group = ?")', id="f-string"
        ),
        pytest.param('text = "UPDATE requests SET got = ?"\ntext += where', id="added-later"),
    ],
)
def test_a_condition_that_is_added_elsewhere_is_no_missing_one(code: str) -> None:
    """All requests are of the blood group of the unit, and the condition asks for it."""
    before = {"units": UNIT, "requests": make_requests(3, 0, 0, blood_group="A+")}
    after = {"units": UNIT, "requests": make_requests(2, 2, 2, blood_group="A+")}
    assert find_breaches(code, before, after, "U1") == []
    assert find_breaches("run('UPDATE requests SET got = ?')", before, after, "U1") == [
        "every_row_changed"
    ]
