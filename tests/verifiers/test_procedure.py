"""Predicates over deeds, what gates the reward, and evidence of all that failed."""

from typing import Any

import pytest

from envmill.language.told import ReplyValues
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from envmill.verifiers.procedure import find_breach, shows
from envmill.verifiers.weights import balance, cap_weights
from schemas.environment import Call
from schemas.scenario import CallPattern, Check, Fact, Predicate, Verifier
from tests.verifiers.test_judge import GOLD, START, VERIFIER, with_change


def deed(
    name: str, outcome: Any = "ok", actor: str = "agent", parts: Any = (), **arguments: Any
) -> CompletedCall:
    return CompletedCall(
        Call(name=name, arguments=arguments, actor=actor),
        outcome,
        "" if outcome == "ok" else "no",
        parts,
    )


def json_part(value: Any) -> list[Any]:
    return [{"type": "json", "value": value}]


def predicate(op: Any, name: str = "confirm", arguments: Any = None, **more: Any) -> Predicate:
    return Predicate(
        name="it", op=op, call=CallPattern(name=name, arguments=arguments or {}), **more
    )


CONFIRM, BOOK = deed("confirm", order="o1"), deed("book", order="o1")
SEEN = predicate("seen", "", shows=["m1", "2026-03-14", 2])
ROW = {"id": "m1", "due": "2026-03-14", "count": 2, "open": True}


@pytest.mark.parametrize(
    ("one", "deeds", "holds"),
    [
        (predicate("required"), [CONFIRM], True),
        (predicate("required"), [], False),
        (predicate("required"), [BOOK], False),
        (predicate("required"), [deed("confirm", "rejection")], False),
        (predicate("required"), [deed("confirm", "failure")], False),
        (predicate("required"), [deed("confirm", actor="user")], False),
        (
            predicate("required", arguments={"order": "o1"}),
            [deed("confirm", order="o1", note="x")],
            True,
        ),
        (predicate("required", arguments={"order": "o1"}), [deed("confirm", order="o2")], False),
        (predicate("required", arguments={"order": "o1"}), [deed("confirm")], False),
        (predicate("required", arguments={"order": {"$any": "string"}}), [CONFIRM], True),
        (predicate("required", arguments={"order": {"$any": "number"}}), [CONFIRM], False),
        (predicate("required", arguments={"sure": True}), [deed("confirm", sure=1)], False),
        (predicate("forbidden"), [BOOK], True),
        (predicate("forbidden"), [deed("confirm", "rejection")], True),
        (predicate("forbidden"), [BOOK, CONFIRM], False),
        (predicate("at_most", most=1), [CONFIRM], True),
        (predicate("at_most", most=1), [CONFIRM, deed("confirm", "rejection")], True),
        (predicate("at_most", most=1), [CONFIRM, CONFIRM], False),
        (predicate("before", "book", first=CallPattern(name="confirm")), [CONFIRM, BOOK], True),
        (predicate("before", "book", first=CallPattern(name="confirm")), [], True),
        (predicate("before", "book", first=CallPattern(name="confirm")), [BOOK, CONFIRM], False),
        (
            predicate("before", "book", first=CallPattern(name="confirm")),
            [deed("confirm", "rejection"), BOOK],
            False,
        ),
        (
            predicate("before", "book", first=CallPattern(name="confirm")),
            [BOOK, CONFIRM, BOOK],
            False,
        ),
        (
            predicate("before", "book", first=CallPattern(name="confirm")),
            [CONFIRM, BOOK, BOOK],
            True,
        ),
        (predicate("before", "book", first=CallPattern(name="book")), [BOOK], False),
        (SEEN, [deed("get", parts=json_part(ROW))], True),
        (
            SEEN,
            [deed("list", parts=json_part({"rows": {"m1": {"due": "2026-03-14", "n": 2.0}}}))],
            True,
        ),
        (
            SEEN,
            [
                deed(
                    "tell",
                    parts=[{"type": "text", "text": "Member M1 has 2 loans, due 2026-03-14."}],
                )
            ],
            True,
        ),
        (
            SEEN,
            [
                deed(
                    "tell",
                    parts=[{"type": "text", "text": "Member M1 has 12 loans, due 2026-03-14."}],
                )
            ],
            False,
        ),
        (SEEN, [deed("get", "rejection", parts=json_part(ROW))], False),
        (
            SEEN,
            [
                deed("get", parts=json_part({"id": "m1"})),
                deed("due", parts=json_part({"due": "2026-03-14", "count": 2})),
            ],
            False,
        ),
        (SEEN, [deed("get", parts=json_part(ROW | {"count": True}))], False),
        (SEEN, [deed("get", actor="user", parts=json_part(ROW))], False),
        (
            predicate("only", "book", among=[CallPattern(name="book", arguments={"order": "o1"})]),
            [deed("book", order="o1"), CONFIRM],
            True,
        ),
        (
            predicate("only", "book", among=[CallPattern(name="book", arguments={"order": "o1"})]),
            [deed("book", order="o2")],
            False,
        ),
        (predicate("only", "book"), [deed("book", order="o1")], False),
        (predicate("only", "book"), [deed("book", "rejection", order="o1")], True),
        (predicate("after", "book", first=CallPattern(name="confirm")), [BOOK, CONFIRM], True),
        (predicate("after", "book", first=CallPattern(name="confirm")), [CONFIRM, BOOK], False),
        (predicate("after", "book", first=CallPattern(name="confirm")), [BOOK], True),
    ],
)
def test_a_predicate_holds_of_what_happened(
    one: Predicate, deeds: list[CompletedCall], holds: bool
) -> None:
    assert (find_breach(one, deeds, {}) is None) is holds


BOOKING = CallPattern(name="book", arguments={"order": "o1"})


@pytest.mark.parametrize(
    ("tried", "holds"),
    [
        pytest.param(deed("book", "rejection", order="o1"), True, id="refused by a rule"),
        pytest.param(
            deed("book", "rejection", order="o1", note="x"), True, id="with an argument more"
        ),
        pytest.param(deed("book", "rejection", order="o2"), False, id="another record"),
        pytest.param(deed("confirm", "rejection", order="o1"), False, id="another tool"),
        pytest.param(deed("book", "rejection", actor="user", order="o1"), False, id="by the user"),
        pytest.param(deed("book", "failure", order="o1"), False, id="a breakdown"),
        pytest.param(deed("book", order="o1"), False, id="accepted"),
        pytest.param(
            CompletedCall(
                Call(name="book", arguments={"order": "o1"}), "rejection", "invalid_arguments"
            ),
            False,
            id="malformed",
        ),
        pytest.param(
            CompletedCall(
                Call(name="book", arguments={"order": "o1"}), "rejection", "unknown_tool"
            ),
            False,
            id="no such tool",
        ),
    ],
)
@pytest.mark.parametrize("one", [SEEN, predicate("required")])
def test_a_rule_that_refuses_what_was_asked_shows_the_reason(
    one: Predicate, tried: CompletedCall, holds: bool
) -> None:
    assert (
        find_breach(one.model_copy(update={"refused": [BOOKING]}), [tried], {}) is None
    ) is holds
    assert find_breach(one, [tried], {}) is not None


def test_a_row_that_was_found_may_be_an_argument() -> None:
    one = predicate("required", arguments={"loan": {"$row": 0}})
    assert find_breach(one, [deed("confirm", loan="loan_a")], {0: "loan_a"}) is None
    assert find_breach(one, [deed("confirm", loan="loan_b")], {0: "loan_a"}) is not None


def test_a_row_is_shown_by_the_values_of_its_fields() -> None:
    assert shows(ReplyValues(json_part({"member": "m1", "n": 2})), [{"id": "m1", "count": 2}])
    assert not shows(ReplyValues(json_part({"id": "m1", "count": 3})), [{"id": "m1", "count": 2}])
    assert not shows(ReplyValues(json_part({"id": "m1"})), [["m1"]])


def test_a_true_is_not_a_one_in_a_reply() -> None:
    assert not shows(ReplyValues(json_part([1])), [True])
    assert shows(ReplyValues(json_part([True])), [True])


TOLD = Fact(name="the day it is due", kind="date", value="2026-03-14")
WHOLE = VERIFIER.model_copy(update={
    "guards": [Check(name="the saw stays", op="equals", path=["items", "i2", "free"], value=True)],
    "procedure": [predicate("required", "look")], "facts": [TOLD], "harm": [predicate("forbidden", "wipe")],
})  # fmt: skip
RIGHT = Ending(START, GOLD, [deed("look"), deed("lend")], ["It is due on March 14th."])


def ending(**changes: Any) -> Ending:
    return Ending(
        **{"initial": START, "final": RIGHT.final, "deeds": RIGHT.deeds, "said": RIGHT.said}
        | changes
    )


STRAY = with_change(GOLD, "log", to=["x"])
BROKEN = with_change(GOLD, "items", "i2", "free", to=False)


@pytest.mark.parametrize(
    ("one", "failing"),
    [
        pytest.param(ending(), set[str](), id="all right"),
        pytest.param(ending(final=START), {"goals"}, id="not done"),
        pytest.param(ending(said=[]), {"facts"}, id="not said"),
        pytest.param(ending(deeds=[deed("lend")]), {"procedure"}, id="not looked"),
        pytest.param(ending(deeds=[*RIGHT.deeds, deed("wipe")]), {"harm"}, id="harm"),
        pytest.param(ending(final=STRAY), {"frame"}, id="stray"),
        pytest.param(ending(final=BROKEN), {"guards", "frame"}, id="broken"),
        pytest.param(Ending(START, START), {"goals", "facts", "procedure"}, id="nothing"),
    ],
)
def test_every_component_gates_a_pass_and_is_named_in_the_evidence(
    one: Ending, failing: set[str]
) -> None:
    verdict = judge(WHOLE, one)
    assert list(verdict.components) == ["guards", "frame", "goals", "procedure", "facts", "harm"]
    assert (
        {name for name, value in verdict.components.items() if value < 1.0}
        == failing
        == {row["component"] for row in verdict.evidence}
    )
    assert (verdict.outcome, verdict.reward) == (("fail", 0.0) if failing else ("pass", 1.0))
    assert bool(verdict.reason) is bool(failing)


@pytest.mark.parametrize(
    ("one", "reward"),
    [
        pytest.param(ending(), 1.0, id="all"),
        pytest.param(ending(said=[]), 2 / 3, id="two goals of three parts"),
        pytest.param(ending(final=START), 1 / 3, id="the fact alone"),
        pytest.param(ending(said=[], deeds=[deed("lend")]), 0.0, id="procedure gates"),
        pytest.param(ending(said=[], deeds=[*RIGHT.deeds, deed("wipe")]), 0.0, id="harm gates"),
        pytest.param(ending(said=[], final=STRAY), 0.0, id="the frame gates"),
        pytest.param(Ending(START, START), 0.0, id="nothing"),
    ],
)
def test_partial_pay_is_for_goals_and_facts_alone(one: Ending, reward: float) -> None:
    assert judge(WHOLE.model_copy(update={"partial": True}), one).reward == pytest.approx(reward)


def test_evidence_shows_what_was_asked_for_and_what_was_found_instead() -> None:
    rows = judge(
        WHOLE,
        Ending(
            START, with_change(BROKEN, "items", "i1", to=None), [deed("wipe", all=True)], ["Done."]
        ),
    ).evidence
    shown = {(row["component"], row["name"]): row for row in rows}
    assert shown["guards", "the saw stays"]["expected"] == {
        "op": "equals",
        "path": ["items", "i2", "free"],
        "value": True,
    }
    assert shown["guards", "the saw stays"]["found"] is False
    assert shown["frame", "items.i1"]["expected"] == {
        "path": ["items", "i1"],
        "value": START["items"]["i1"],
    }
    assert "found" not in shown["frame", "items.i1"]
    assert shown["harm", "it"]["found"] == [
        {"place": 0, "name": "wipe", "arguments": {"all": True}, "actor": "agent"}
    ]
    assert shown["facts", TOLD.name] == {
        "component": "facts", "name": TOLD.name, "expected": {"kind": "date", "value": "2026-03-14"}, "found": "Done.",
    }  # fmt: skip
    assert {name for component, name in shown if component == "goals"} == {"items.i1.free is False"}


def test_components_a_verifier_lacks_are_left_out() -> None:
    assert list(
        judge(
            Verifier(goals=[], guards=[], frame=[], facts=[TOLD]), Ending(START, START)
        ).components
    ) == ["frame", "facts"]


def test_a_verifier_that_asks_for_nothing_judges_nobody() -> None:
    assert judge(Verifier(goals=[], guards=[], frame=[]), Ending(START, START)).outcome == "error"


def test_a_pattern_that_cannot_be_run_is_an_error() -> None:
    broken = Verifier(
        goals=[], guards=[], frame=[], facts=[Fact(name="x", kind="pattern", value="(")]
    )
    assert judge(broken, Ending(START, START, said=["x"])).outcome == "error"


@pytest.mark.parametrize(
    "weights",
    [(1, 1, 1, 1), (9, 1, 1, 1), (100, 100, 1, 1, 1), (1, 2, 3, 4, 5), (1e9, 1, 1, 1, 1e-9)],
)
def test_nothing_weighs_over_a_quarter_of_four(weights: tuple[float, ...]) -> None:
    shares = cap_weights(weights)
    assert sum(shares) == pytest.approx(1.0)
    assert max(shares) <= 0.25 + 1e-9
    assert sorted(shares, key=float) == [
        share for _, share in sorted(zip(weights, shares, strict=True))
    ]


def test_weights_are_only_touched_where_one_is_too_heavy() -> None:
    assert cap_weights((3, 1)) == [0.75, 0.25]
    light = WHOLE.model_copy(
        update={"goals": [goal.model_copy(update={"weight": 2.0}) for goal in WHOLE.goals]}
    )
    assert balance(light) is light
    heavy = light.model_copy(
        update={"facts": [TOLD.model_copy(update={"name": name, "weight": 50.0}) for name in "ab"]}
    )
    parts = [*balance(heavy).goals, *balance(heavy).facts]
    assert [part.weight for part in parts] == pytest.approx([0.25] * 4)
