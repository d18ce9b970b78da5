"""From clauses to predicates: for which rows a clause applies, which arguments it binds, and what
cannot be compiled."""

from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.kinds.dialogue.compile import MOST, ClauseDemands, compile_clauses
from envmill.kinds.dialogue.plan import read_dialogue
from schemas.dialogue import Dialogue, PolicyClause
from tests.kinds.dialogue.plans import PLAN, RESUME, at, call, clause
from tests.samples.dialogue import load
from tests.samples.dialogue.atoms import compose

LINES: dict[str, Any] = {
    "L1": {"id": "L1", "reason": "payment", "fee": 10},
    "L2": {"id": "L2", "reason": "fraud", "fee": 50},
    "L3": {"id": "L3", "reason": "", "fee": None},
}


def compile_one(
    one: PolicyClause, lines: dict[str, Any] = LINES, request: str = "Please resume line L1."
) -> ClauseDemands:
    dialogue = Dialogue.model_validate(PLAN | {"clauses": [one.model_dump()]})
    draft = compose(load().environment, "flight", 0)
    user = draft.user.model_copy(update={"opening": request, "goals": []})
    state: dict[str, Any] = {"lines": lines, "tickets": {}, "phones": {}, "notices": {}}
    return compile_clauses(
        dialogue,
        draft.model_copy(
            update={"initial_state": state, "request": request, "user": user, "oracle": []}
        ),
    )


@pytest.mark.parametrize(
    ("condition", "rows"),
    [
        pytest.param(at("reason", "fraud"), ["L2"], id="is"),
        pytest.param(at("reason", "fraud", "is_not"), ["L1", "L3"], id="is not"),
        pytest.param(at("fee", 50, "at_least"), ["L2"], id="at least"),
        pytest.param(at("fee", 50, "below"), ["L1"], id="below: nothing is no number"),
        pytest.param(at("colour", "red"), [], id="no such field"),
    ],
)
def test_a_condition_picks_rows(condition: dict[str, Any], rows: list[str]) -> None:
    harm = compile_one(clause("x", "forbid", RESUME, when=[condition])).harm
    assert [one.call.arguments for one in harm] == [{"line_id": row} for row in rows]
    assert all(one.name == f"clause x ({row})" for one, row in zip(harm, rows, strict=True))


@pytest.mark.parametrize(
    ("said", "request_", "applies"),
    [
        (True, "My phone was stolen.", True),
        (True, "My phone is slow.", False),
        (False, "My phone was stolen.", False),
        (False, "My phone is slow.", True),
    ],
)
def test_words_of_the_user_decide(said: bool, request_: str, applies: bool) -> None:
    one = clause(
        "x", "forbid", call("resume"), when=[{"on": "words", "words": ["stolen"], "said": said}]
    )
    assert bool(compile_one(one, request=request_).harm) is applies


def test_a_row_that_two_calls_share_is_bound_in_both() -> None:
    shared = compile_one(
        clause("x", "first", RESUME, first=call("verify", line_id="$line"))
    ).procedure
    assert [(one.call.arguments, one.first and one.first.arguments) for one in shared] == [
        ({"line_id": row},) * 2 for row in LINES
    ]
    (free,) = compile_one(clause("x", "first", RESUME, first=call("see_signal", "user"))).procedure
    assert (free.call.arguments, free.first and free.first.actor) == ({}, "user")


def test_more_rows_than_a_judge_should_walk_through_are_refused() -> None:
    lines = {f"L{place}": {"id": f"L{place}", "reason": ""} for place in range(MOST + 1)}
    with pytest.raises(BuildError, match="Clause x speaks of 401 rows"):
        compile_one(clause("x", "first", RESUME, first=call("verify", line_id="$line")), lines)


def test_a_hand_over_that_names_no_row_is_asked_for_too() -> None:
    environment = load().environment
    draft = compose(environment, "seal", 0)
    left = draft.model_copy(
        update={"oracle": [one for one in draft.oracle if one.name != "hand_over"]}
    )
    with pytest.raises(BuildError, match="clause seal_desk"):
        compile_clauses(read_dialogue(environment.files), left)
