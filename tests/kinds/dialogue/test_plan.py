"""Bad input is found while the plan is made, with the clause named; the same plan without the fault
is clean."""

from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.kinds.dialogue.plan import read_dialogue
from envmill.kinds.dialogue.wording import YES, render_clause, render_policy
from schemas.dialogue import PolicyClause
from tests.kinds.dialogue.plans import (
    CLAUSES,
    GOAL,
    PLAN,
    RESUME,
    at,
    call,
    clause,
    find_faults,
    render,
)

SECURITY = call("hand_over", line_id="$line", team="security")
FRAUD, PAYMENT = at("reason", "fraud"), at("reason", "payment")


def test_a_plan_that_is_right_is_clean() -> None:
    assert find_faults() == []
    assert find_faults(render()) == []


@pytest.mark.parametrize(
    ("more", "named"),
    [
        pytest.param(
            [clause("no_ticket", "forbid", SECURITY)],
            ("fraud", "no_ticket"),
            id="asked for and forbidden",
        ),
        pytest.param(
            [clause("never", "forbid", RESUME, when=[PAYMENT])],
            ("paid_only", "never"),
            id="allowed and forbidden",
        ),
        pytest.param(
            [
                clause(
                    "desk",
                    "hand_over",
                    call("hand_over", line_id="$line", team="desk"),
                    when=[FRAUD],
                )
            ],
            ("fraud", "desk"),
            id="handed over in two ways",
        ),
        pytest.param(
            [clause("no_code", "forbid", call("verify"))],
            ("verify_first", "no_code"),
            id="needed first and forbidden",
        ),
        pytest.param(
            [
                clause(
                    "circle",
                    "first",
                    call("verify", line_id="$line"),
                    first=call("resume", line_id="$line"),
                )
            ],
            ("circle", "verify_first"),
            id="each before the other",
        ),
        pytest.param(
            [clause("none", "forbid", RESUME, when=[at("fee", 3), at("fee", 3, "below")])],
            ("none",),
            id="a value out of its range",
        ),
        pytest.param(
            [
                clause("dear", "allow", RESUME, when=[at("fee", 90, "at_least")]),
                clause("no", "forbid", RESUME, when=[at("fee", 50, "at_least")]),
            ],
            ("dear", "no"),
            id="allowed within what is forbidden",
        ),
        pytest.param(
            [clause("both", "forbid", RESUME, when=[FRAUD, PAYMENT])],
            ("both",),
            id="two values at once",
        ),
        pytest.param(
            [
                clause(
                    "none", "forbid", RESUME, when=[at("fee", 9, "below"), at("fee", 9, "at_least")]
                )
            ],
            ("none",),
            id="no number",
        ),
        pytest.param(
            [clause("fraud_ok", "allow", call("hand_over", line_id="$line"), when=[PAYMENT])],
            ("fraud", "fraud_ok"),
            id="not allowed",
        ),
        pytest.param(
            [
                clause(
                    "talk",
                    "forbid",
                    RESUME,
                    when=[
                        {"on": "words", "words": ["stolen"]},
                        {"on": "words", "words": ["Stolen"], "said": False},
                    ],
                )
            ],
            ("talk",),
            id="said and not said",
        ),
    ],
)
def test_a_contradiction_is_found_with_its_clauses(
    more: list[PolicyClause], named: tuple[str, ...]
) -> None:
    faults = [fault for fault in find_faults("", *more) if "contradict" in fault]
    assert faults
    assert all(any(name in fault for fault in faults) for name in named)


@pytest.mark.parametrize(
    "more",
    [
        pytest.param(
            [clause("never", "forbid", RESUME, when=[PAYMENT, at("fee", 90, "at_least")])],
            id="an exception",
        ),
        pytest.param([clause("never", "forbid", RESUME, when=[FRAUD])], id="other rows"),
        pytest.param(
            [
                clause(
                    "desk",
                    "hand_over",
                    call("hand_over", line_id="$line", team="desk"),
                    when=[PAYMENT],
                )
            ],
            id="each its own destination",
        ),
        pytest.param(
            [clause("no_code", "forbid", call("verify", code="0000"))], id="forbidden with one code"
        ),
        pytest.param(
            [clause("no_code", "forbid", call("verify", line_id="$line"), when=[FRAUD])],
            id="needed first, forbidden for some",
        ),
        pytest.param(
            [
                clause("dear", "allow", RESUME, when=[at("fee", 50, "at_least")]),
                clause("no", "forbid", RESUME, when=[at("fee", 90, "at_least")]),
            ],
            id="forbidden within what is allowed",
        ),
        pytest.param(
            [
                clause("known", "allow", RESUME, when=[at("reason", "fraud", "is_not")]),
                clause("no", "forbid", RESUME, when=[at("reason", "payment", "is_not")]),
            ],
            id="each but one",
        ),
        pytest.param(
            [
                clause(
                    "order",
                    "first",
                    call("verify", line_id="$line"),
                    first=call("show_line", line_id="$line"),
                )
            ],
            id="a chain",
        ),
        pytest.param(
            [
                clause(
                    "range",
                    "forbid",
                    RESUME,
                    when=[at("fee", 9, "below"), at("fee", 5, "at_least")],
                )
            ],
            id="a range",
        ),
        pytest.param(
            [clause("also", "allow", RESUME, when=[at("reason", "travel")])],
            id="allowed in two cases",
        ),
        pytest.param(
            [
                clause(
                    "words", "forbid", RESUME, when=[{"on": "words", "words": ["stolen", "robbed"]}]
                )
            ],
            id="words",
        ),
    ],
)
def test_clauses_that_agree_pass(more: list[PolicyClause]) -> None:
    assert find_faults("", *more) == []


@pytest.mark.parametrize(
    ("more", "told"),
    [
        pytest.param([clause("x", "first", RESUME)], "needs `first`", id="first without a call"),
        pytest.param([clause("x", "say", RESUME)], "needs `words` or `told`", id="nothing to say"),
        pytest.param(
            [clause("x", "forbid", RESUME, words=["no"])],
            "only the effect say",
            id="words without use",
        ),
        pytest.param([clause("x", "forbid", call("resumee"))], "'resumee'", id="no such tool"),
        pytest.param(
            [clause("x", "forbid", call("resume", row="$line"))], "'row'", id="no such argument"
        ),
        pytest.param(
            [clause("x", "forbid", RESUME, when=[at("colour", 1)])],
            "lines.colour",
            id="no such field",
        ),
        pytest.param(
            [clause("x", "forbid", RESUME, when=[at("signal", 1, row="desks/1")])],
            "desks/1",
            id="no such row",
        ),
        pytest.param(
            [clause("x", "forbid", call("see_signal", "user"))],
            "binds the user's tool",
            id="binds the user",
        ),
        pytest.param(
            [clause("x", "first", RESUME, first=call("see_signal"))],
            "takes `see_signal` for",
            id="another's tool",
        ),
        pytest.param(
            [clause("x", "confirm", call("show_line"))], "changes nothing", id="a yes to a look"
        ),
        pytest.param([clause("x", "allow", RESUME)], "without any condition", id="allowed always"),
        pytest.param([clause("fraud", "forbid", RESUME)], "there twice", id="a name twice"),
        pytest.param(
            [clause("x", "confirm", RESUME, names=["line_id"])],
            "the same as clause ask_first",
            id="a sentence twice",
        ),
        pytest.param(
            [
                clause(
                    "x", "say", RESUME, words=["so"], when=[{"on": "call", "call": call("verify")}]
                )
            ],
            "a call as a condition",
            id="no order",
        ),
    ],
)
def test_a_clause_that_cannot_be_read_is_named(more: list[PolicyClause], told: str) -> None:
    faults = find_faults("", *more)
    assert any(told in fault and more[0].id in fault for fault in faults), faults


OTHER_SIDE = PLAN["touches"] | {"see_signal": {"reads": ["phones", "lines"]}}


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        pytest.param(
            {"user_tools": [*PLAN["user_tools"], "show_line"]},
            "No goal needs the user's tool show_line",
            id="tool without goal",
        ),
        pytest.param({"user_tools": []}, "The user has no tool", id="one side acts"),
        pytest.param(
            {"sides": {"lines": "agent", "tickets": "agent", "phones": "user"}},
            "notices is on no side",
            id="no side",
        ),
        pytest.param(
            {"touches": OTHER_SIDE}, "touches lines, which is the other side's", id="across"
        ),
        pytest.param(
            {"couplings": [{"name": "c", "reads": ["notices"], "writes": ["lines"]}]},
            "The coupling c never fires",
            id="never fires",
        ),
        pytest.param(
            {"couplings": [{"name": "c", "reads": ["lines"], "writes": ["tickets"]}]},
            "the same side",
            id="one side alone",
        ),
        pytest.param(
            {"personas": [{"name": "shy", "cannot": ["set_airplane"]}]},
            "The persona 'shy' makes the goal",
            id="persona",
        ),
        pytest.param(
            {"goals": [GOAL, {"name": "g", "needs": ["fly"]}]},
            "The goal 'g' needs fly",
            id="goal without tool",
        ),
        pytest.param(
            {"discoverable": {"resume": {"by": call("resume")}}},
            "never unlocked",
            id="locks itself",
        ),
        pytest.param(
            {"discoverable": {"resume": {"by": call("open_up")}}},
            "unlocked by 'open_up'",
            id="unlocked by nothing",
        ),
        pytest.param(
            {"discoverable": {"resume": {"by": call("show_line", line_id="l1")}}},
            "is unlocked by `show_line`, which is a query",
            id="unlocked by a query",
        ),
        pytest.param(
            {
                "discoverable": {"resume": {"by": call("verify")}},
                "touches": {"verify": {"reads": ["lines"], "writes": []}},
            },
            "is unlocked by `verify`, which writes no collection",
            id="unlocked and kept nowhere",
        ),
        pytest.param(
            {"discoverable": {"resume": {"by": call("verify", key="resume")}}},
            "with the argument 'key', which it does not take",
            id="unlocked with an unknown argument",
        ),
        pytest.param(
            {"discoverable": {"resume": {"by": call("set_airplane", "user")}}},
            "a tool of the user: the agent unlocks it",
            id="unlocked by the user",
        ),
    ],
)
def test_a_world_that_cannot_work_is_found(changes: dict[str, Any], told: str) -> None:
    assert any(told in fault for fault in find_faults("", **changes)), find_faults("", **changes)


def test_a_coupling_may_follow_another() -> None:
    """Nothing but the first coupling writes what the second reads."""
    touches = PLAN["touches"] | {"set_airplane": {"reads": ["phones"]}}
    first, then = (
        PLAN["couplings"][0],
        {"name": "notice_follows", "reads": ["phones"], "writes": ["tickets"]},
    )
    assert find_faults("", touches=touches, couplings=[first, then]) == []
    (fault,) = find_faults("", touches=touches, couplings=[then])
    assert "The coupling notice_follows never fires" in fault


def test_a_clause_speaks_of_one_row() -> None:
    one = PolicyClause.model_validate(
        {
            **{
                "id": "x",
                "effect": "forbid",
                "call": call("hand_over", line_id="$line", team="$ticket"),
            },
            "rows": {"$line": "lines", "$ticket": "tickets"},
        }
    )
    assert any("more than one row" in fault for fault in find_faults("", one))


def test_a_persona_without_the_goal_may_be_unable() -> None:
    goals = [GOAL, {"name": "to ask", "needs": ["show_line"]}]
    assert (
        find_faults(
            "",
            goals=goals,
            personas=[{"name": "shy", "cannot": ["set_airplane"], "goals": ["to ask"]}],
        )
        == []
    )


def test_a_document_is_held_to_the_clauses() -> None:
    changed = render().replace("50", "500")
    stray, missing = find_faults(changed)
    assert "says what no clause says" in stray
    assert "nearest to clause look_at_phone" in stray
    assert "does not say clause look_at_phone" in missing
    (added,) = find_faults(render() + "Be kind.\n")
    assert "'Be kind.'" in added


def test_a_document_says_what_counts_as_a_yes() -> None:
    """What the user volunteers is none, for the verifier neither (tests/verifiers/test_consent.py). A
    document from elsewhere need not say it."""
    assert YES in render()
    assert find_faults(render()) == find_faults(render().replace(YES, "")) == []
    silent = [clause for clause in CLAUSES if clause.effect != "confirm"]
    assert YES not in render_policy(silent)


@pytest.mark.parametrize("number", range(len(CLAUSES)))
def test_each_clause_has_a_sentence_of_its_own(number: int) -> None:
    sentence = render_clause(CLAUSES[number])
    assert sentence.endswith(".")
    assert "$" not in sentence
    left = render().replace(sentence, "")
    assert any(CLAUSES[number].id in fault for fault in find_faults(left))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{",
        '{"sides": 1}',
        '{"clauses": [{"id": "a", "effect": "allow", "call": {"name": "x"}, "eval": "1"}]}',
    ],
)
def test_a_file_that_cannot_be_read_is_a_typed_error(text: str) -> None:
    with pytest.raises(BuildError, match=r"dialogue\.json"):
        read_dialogue({"dialogue.json": text} if text else {})
