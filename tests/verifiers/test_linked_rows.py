"""New rows that name other new rows: compared by which row it is, whatever ids a session gives."""

from typing import Any

import pytest

from envmill.verifiers.derive import derive_verifier, meet_keys
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from envmill.verifiers.typed import derive_end
from schemas.database import Column, Table
from schemas.environment import Call
from schemas.scenario import Verifier

START: dict[str, Any] = {"offers": {"O1": {"flat_id": "F3", "tenant": "Ada"}}, "leases": {}}
TABLES = [
    Table(
        name="offers",
        key=["id"],
        columns=[
            Column(name="id", type="text", policy="exempt"),
            Column(name="flat_id", type="text"),
            Column(name="tenant", type="text"),
        ],
    ),
    Table(
        name="leases",
        key=["id"],
        columns=[
            Column(name="id", type="text", policy="exempt"),
            Column(name="offer_id", type="text", references="offers.id"),
            Column(name="months", type="integer"),
        ],
    ),
]


def end(
    first: str, second: str, lease: str, other: str, to: str, other_to: str, *, twins: bool = False
) -> dict[str, Any]:
    """Two offers and two leases; the longer one is for `to`."""
    tenants = ("Ben", "Ben") if twins else ("Ben", "Cora")
    offers = {
        key: {"flat_id": "F3", "tenant": tenant}
        for key, tenant in zip((first, second), tenants, strict=True)
    }
    leases = {lease: {"offer_id": to, "months": 12}, other: {"offer_id": other_to, "months": 6}}
    return {
        "offers": START["offers"] | dict(sorted(offers.items())),
        "leases": dict(sorted(leases.items())),
    }


HERE = end("o_a", "o_b", "l_a", "l_b", "o_a", "o_b")
ELSEWHERE = end("o_y", "o_x", "l_x", "l_y", "o_y", "o_x")
"""In another order of ids."""


def add_ids(state: dict[str, Any]) -> dict[str, Any]:
    return {
        table: {key: {"id": key, **row} for key, row in rows.items()}
        for table, rows in state.items()
    }


def derive(
    kind: str, here: dict[str, Any], elsewhere: dict[str, Any], met: dict[str, str] | None = None
) -> Verifier:
    start = START
    if kind == "sql":
        start, here, elsewhere = add_ids(start), add_ids(here), add_ids(elsewhere)
    tables = TABLES if kind == "sql" else ()
    return derive_end(
        tables, start, diff_states(start, here), diff_states(start, elsewhere), met or {}
    )


def rule(kind: str, verifier: Verifier, final: dict[str, Any]) -> str:
    start = START
    if kind == "sql":
        start, final = add_ids(start), add_ids(final)
    return judge(verifier, Ending(start, final)).outcome


@pytest.mark.parametrize("kind", ["stateful", "sql"])
@pytest.mark.parametrize(
    ("final", "outcome"),
    [
        pytest.param(end("o_1", "o_2", "l_1", "l_2", "o_1", "o_2"), "pass", id="other ids"),
        pytest.param(
            end("o_2", "o_1", "l_2", "l_1", "o_2", "o_1"), "pass", id="made in another order"
        ),
        pytest.param(
            end("o_1", "o_2", "l_1", "l_2", "o_2", "o_1"), "fail", id="each names the other new row"
        ),
        pytest.param(
            end("o_1", "o_2", "l_1", "l_2", "o_1", "o_1"), "fail", id="both name one new row"
        ),
        pytest.param(end("o_1", "o_2", "l_1", "l_2", "O1", "o_2"), "fail", id="an old row"),
        pytest.param(end("o_1", "o_2", "l_1", "l_2", "o_9", "o_2"), "fail", id="no row at all"),
    ],
)
def test_a_reference_to_a_new_row_is_compared_by_which_row_it_is(
    kind: str, final: dict[str, Any], outcome: str
) -> None:
    verifier = derive(kind, HERE, ELSEWHERE)
    assert rule(kind, verifier, HERE) == "pass"
    assert rule(kind, verifier, final) == outcome


@pytest.mark.parametrize("kind", ["stateful", "sql"])
def test_rows_that_are_alike_are_told_apart_by_the_call_that_made_them(kind: str) -> None:
    """Two offers that are the same but for their ids, which come in another order elsewhere."""
    here = end("o_a", "o_b", "l_a", "l_b", "o_a", "o_b", twins=True)
    elsewhere = end("o_y", "o_x", "l_x", "l_y", "o_y", "o_x", twins=True)
    old = end("o_1", "o_2", "l_1", "l_2", "O1", "o_2", twins=True)
    right = end("o_2", "o_1", "l_1", "l_2", "o_2", "o_1", twins=True)
    both = end("o_2", "o_1", "l_1", "l_2", "o_2", "o_2", twins=True)
    deeds, again = ([_make(key) for key in keys] for keys in (("o_a", "o_b"), ("o_y", "o_x")))
    met = dict(meet_keys(deeds, again))
    assert met == {"o_a": "o_y", "o_b": "o_x"}
    verifier = derive(kind, here, elsewhere, met)
    assert [rule(kind, verifier, one) for one in (here, right, old, both)] == [
        "pass",
        "pass",
        "fail",
        "fail",
    ]
    if kind == "stateful":
        assert (
            rule(
                kind,
                derive_verifier(START, diff_states(START, here), diff_states(START, elsewhere)),
                old,
            )
            == "pass"
        ), "without them"


def _make(key: str) -> CompletedCall:
    return CompletedCall(
        Call(name="make_offer"), "ok", "", [{"type": "json", "value": {"id": key, "flat_id": "F3"}}]
    )


MOVED: dict[str, Any] = {
    "offers": {"O1": {"flat_id": "F3", "tenant": "Ada"}, "O2": {"flat_id": "F4", "tenant": "Eve"}},
    "leases": {"L0": {"offer_id": "O1", "months": 12}},
}


def move(new: str, to: str) -> dict[str, Any]:
    """A new offer, and the old lease for `to`."""
    offers = MOVED["offers"] | ({new: {"flat_id": "F5", "tenant": "Ben"}} if new else {})
    return add_ids({"offers": offers, "leases": {"L0": {"offer_id": to, "months": 12}}})


@pytest.mark.parametrize(
    ("final", "missed"),
    [
        pytest.param(move("o_1", "o_1"), [], id="another id"),
        pytest.param(move("o_1", "O1"), ["leases/L0/offer_id"], id="left where it was"),
        pytest.param(move("o_1", "O2"), ["leases/L0/offer_id"], id="given to another old one"),
        pytest.param(move("", "O1"), ["offers", "leases/L0/offer_id"], id="nothing done"),
    ],
)
def test_an_old_row_that_is_to_refer_to_a_new_one_is_a_goal(
    final: dict[str, Any], missed: list[str]
) -> None:
    start = add_ids(MOVED)
    here, there = (diff_states(start, move(new, new)) for new in ("o_a", "o_b"))
    verifier = derive_end(TABLES, start, here, there, {})
    assert ["/".join(goal.path) for goal in verifier.goals] == ["offers", "leases/L0/offer_id"]
    assert verifier.guards == []
    verdict = judge(verifier, Ending(start, final))
    assert verdict.outcome == ("fail" if missed else "pass")
    assert len(verdict.evidence) == len(missed)
    assert all(one["component"] == "goals" for one in verdict.evidence)
