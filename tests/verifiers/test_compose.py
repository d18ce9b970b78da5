"""Whole verifiers: what each polarity has to prove, so that neither doing nothing nor the right
words alone are paid."""

from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.verifiers.compose import ComposedVerifier, OracleRun, compose_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import CompletedCall, Ending
from envmill.verifiers.judge import judge
from schemas.environment import Call
from schemas.scenario import CallPattern, Draft, Fact, UserContract
from tests.specimens import ORIGIN, STATE, make_environment

TOOLS = Fact(name="how many tools", kind="number", value=3)
DUE = Fact(name="when the axe is due", kind="date", value="2026-03-14")
START: dict[str, Any] = STATE | {"loans": {
    "loan_1": {"tool": "T3", "member": "M1", "due": "2026-03-14"}, "loan_2": {"tool": "T9", "member": "M2", "due": "2026-04-01"},
}}  # fmt: skip
POLITE = Fact(name="why not", kind="pattern", value=r"(?i)\b(free)")
SHED = make_environment(policy_document="Nobody may hold more than 3 tools at a time.")


def deed(name: str, value: Any, **arguments: Any) -> CompletedCall:
    return CompletedCall(
        Call(name=name, arguments=arguments), "ok", "", [{"type": "json", "value": value}]
    )


LISTED = deed("list_tools", [dict(row, id=key) for key, row in START["tools"].items()])
ADA = deed(
    "get_member",
    {"name": "Ada", "loans": [dict(START["loans"]["loan_1"], id="loan_1")]},
    member_id="M1",
)
READS = (LISTED, ADA)


def draft(**changes: Any) -> Draft:
    fields: dict[str, Any] = {
        "environment": SHED.id, "number": 0, "initial_state": START, "request": "When is Ada's axe due?",
        "user": UserContract(opening="When is Ada's axe due?"), "oracle": [one.call for one in READS], "polarity": "answer",
        "clock": "2026-03-02T09:00:00+00:00", "seed": 1, "changes": [], "gold_hash": "h", "say": "It is due on 14 March 2026.",
        "tell": [DUE], "avoid": [CallPattern(name="lend")], "origin": ORIGIN,
    }  # fmt: skip
    return Draft.model_validate(fields | changes)


def compose(reads: Any = READS, again: Any = None, **changes: Any) -> ComposedVerifier:
    made = changes.get("changes", [])
    return compose_verifier(
        draft(**changes),
        SHED,
        OracleRun(made, reads),
        OracleRun(made, reads if again is None else again),
    )


def paid(
    composed: ComposedVerifier, deeds: Any = (), said: Any = (), final: Any = START
) -> tuple[str, float | None]:
    verdict = judge(composed.verifier, Ending(START, final, deeds, said))
    return verdict.outcome, verdict.reward


SAY = ["It is due on 14 March 2026."]
LEND = CompletedCall(Call(name="lend", arguments={"tool_id": "T1", "member_id": "M1"}), "ok")
OTHER_ROUTE = deed("get_loan", {"loan_id": "loan_1", "due": "2026-03-14"})
SHORT_ROUTE = (deed("get_tool", {"id": "T3", "name": "axe"}), OTHER_ROUTE)


@pytest.mark.parametrize("polarity", ["answer", "refuse", "clarify", "escalate"])
@pytest.mark.parametrize(
    ("deeds", "said", "final", "outcome"),
    [
        pytest.param(READS, SAY, START, "pass", id="the oracle"),
        pytest.param(READS, ["March 14th."], START, "pass", id="in other words"),
        pytest.param((*READS, *READS), SAY, START, "pass", id="twice"),
        pytest.param((), (), START, "fail", id="nothing"),
        pytest.param((), SAY, START, "fail", id="the words alone"),
        pytest.param(READS, (), START, "fail", id="the reads alone"),
        pytest.param(READS, ["It is due on 15 March 2026."], START, "fail", id="another day"),
        pytest.param((*READS, LEND), SAY, START, "fail", id="a forbidden call"),
        pytest.param(READS, SAY, START | {"loans": {}}, "fail", id="something changed"),
        pytest.param((LISTED,), SAY, START, "fail", id="half of the reads"),
    ],
)
def test_an_untouched_state_is_not_enough(
    polarity: Any, deeds: Any, said: Any, final: Any, outcome: str
) -> None:
    assert paid(compose(polarity=polarity), deeds, said, final) == (
        outcome,
        float(outcome == "pass"),
    )


def test_another_route_to_the_same_rows_counts() -> None:
    composed = compose((ADA,))
    assert paid(composed, (OTHER_ROUTE, deed("find", {"M1": {"name": "Ada"}})), SAY)[0] == "pass"
    assert {predicate.op for predicate in composed.verifier.procedure} == {"seen"}


TRIED = CompletedCall(LEND.call, "rejection", "free")
LENDING = CallPattern(name="lend", arguments={"tool_id": "T1"})


@pytest.mark.parametrize(
    ("changes", "deeds", "outcome"),
    [
        pytest.param({}, (TRIED,), "pass", id="refused"),
        pytest.param(
            {},
            (CompletedCall(LEND.call, "rejection", "invalid_arguments"),),
            "fail",
            id="malformed",
        ),
        pytest.param({}, (), "fail", id="not tried"),
        pytest.param(
            {"avoid": [CallPattern(name="lend")]}, (TRIED,), "fail", id="any call of a tool"
        ),
        pytest.param({"avoid": []}, (TRIED,), "fail", id="nothing to avoid"),
        pytest.param(
            {"tell": [DUE, TOOLS], "say": "At most 3; hers is due on 14 March 2026."},
            (TRIED,),
            "fail",
            id="more is asked for",
        ),
        pytest.param({"polarity": "answer"}, (TRIED,), "fail", id="a question"),
        pytest.param({"polarity": "clarify"}, (TRIED,), "fail", id="a question back"),
    ],
)
def test_who_tried_and_was_refused_knows_the_reason(changes: Any, deeds: Any, outcome: str) -> None:
    composed = compose(**({"polarity": "refuse", "avoid": [LENDING]} | changes))
    assert paid(composed, READS, ["It is due on 14 March 2026; at most 3."])[0] == "pass"
    assert paid(composed, deeds, ["It is due on 14 March 2026; at most 3."])[0] == outcome


CLOCKS: dict[str, Any] = {
    "C1": {"name": "mantel clock", "wood": "walnut"},
    "C2": {"name": "mantel clock", "wood": "cherry"},
}
PARTS: dict[str, Any] = {
    "P1": {"name": "mainspring", "stock": 4},
    "P2": {"name": "escape wheel", "stock": 9},
}
FOUND = deed("list_tools", [dict(row, id=key) for key, row in CLOCKS.items()], query="mantel clock")
STOCK = tuple(deed("get_member", dict(row, id=key), part_id=key) for key, row in PARTS.items())
ONE_BY_ONE = tuple(
    deed("get_member", dict(row, id=key), clock_id=key) for key, row in CLOCKS.items()
)
WHICH = "Do you mean the walnut mantel clock, or the one of cherry?"
WOODS = [Fact(name=f"the one of {wood}", kind="text", value=wood) for wood in ("walnut", "cherry")]
ASKED = Fact(name="which of them", kind="pattern", value=r"(?i)\bwhich one\b|\bdo you mean\b")
MISSING = Fact(name="on what day", kind="pattern", value=r"(?i)\b(which|what) day\b")


def clarify(reads: Any = (FOUND, *STOCK), **changes: Any) -> ComposedVerifier:
    request = "Please put a new mainspring into my mantel clock."
    said = {"request": request, "say": WHICH, "tell": WOODS, "polarity": "clarify"}
    return compose(
        reads, initial_state=START | {"clocks": CLOCKS, "parts": PARTS}, **said | changes
    )


@pytest.mark.parametrize(
    "tell", [pytest.param(WOODS, id="values"), pytest.param([ASKED], id="words alone")]
)
@pytest.mark.parametrize(
    ("deeds", "outcome"),
    [
        pytest.param((FOUND,), "pass", id="the candidates"),
        pytest.param(ONE_BY_ONE, "pass", id="the candidates one by one"),
        pytest.param((FOUND, *STOCK), "pass", id="more than was needed"),
        pytest.param(STOCK, "fail", id="something else"),
        pytest.param(ONE_BY_ONE[:1], "fail", id="one candidate"),
        pytest.param((), "fail", id="nothing"),
    ],
)
def test_a_clarification_asks_for_the_candidates_alone(
    tell: list[Fact], deeds: Any, outcome: str
) -> None:
    composed = clarify(tell=tell)
    final = START | {"clocks": CLOCKS, "parts": PARTS}
    assert judge(composed.verifier, Ending(final, final, deeds, [WHICH])).outcome == outcome


def name_rows(composed: ComposedVerifier) -> set[str]:
    return {
        predicate.name.removesuffix(" was looked at") for predicate in composed.verifier.procedure
    }


def test_a_question_for_what_is_nowhere_rests_on_the_rows_of_the_request() -> None:
    asked = clarify(
        reads=(*ONE_BY_ONE[:1], *STOCK), say="On which day shall it be ready?", tell=[MISSING]
    )
    assert name_rows(asked) == {"clocks.C1", "parts.P1"}


def test_where_no_words_name_a_row_all_that_mattered_must_be_seen() -> None:
    asked = clarify(
        reads=(*ONE_BY_ONE[:1], *STOCK),
        request="Please see to it.",
        say="On which day?",
        tell=[MISSING],
    )
    assert name_rows(asked) == {"clocks.C1", "parts.P1", "parts.P2"}


@pytest.mark.parametrize(
    ("fact", "say", "rows"),
    [
        pytest.param(
            Fact(name="n", kind="number", value=9), "There are 9.", {"parts.P2"}, id="a number"
        ),
        pytest.param(
            Fact(name="n", kind="text", value="cherry wood"),
            "It is cherry wood.",
            {"clocks.C2"},
            id="a value within the words",
        ),
        pytest.param(
            Fact(name="n", kind="pattern", value=r"(?i)\bwalnut\b"),
            "Of walnut.",
            {"clocks.C1"},
            id="a pattern",
        ),
        pytest.param(
            Fact(name="n", kind="text", value="the dark one", also=["walnut"]),
            "The dark one.",
            {"clocks.C1"},
            id="another wording",
        ),
        pytest.param(
            Fact(name="n", kind="text", value="mainspring"),
            "A mainspring.",
            {"parts.P1"},
            id="a name",
        ),
    ],
)
def test_what_a_fact_rests_on_must_be_seen_and_nothing_else(
    fact: Fact, say: str, rows: set[str]
) -> None:
    assert (
        name_rows(clarify(request="What is it?", say=say, tell=[fact], polarity="answer")) == rows
    )


def test_of_rows_with_the_same_value_those_that_were_asked_for_must_be_seen() -> None:
    listed = deed(
        "list_tools",
        [{"id": "P1", "name": "mainspring", "stock": 4}, {"id": "P3", "name": "hand", "stock": 4}],
    )
    state = START | {"parts": PARTS | {"P3": {"name": "hand", "stock": 4}}}
    four = Fact(name="how many", kind="number", value=4)
    said = {"initial_state": state, "say": "There are 4.", "tell": [four]}
    assert name_rows(
        compose((listed,), request="How many mainsprings are there? I mean: mainspring.", **said)
    ) == {"parts.P1"}
    assert name_rows(compose((listed,), request="How many are there?", **said)) == {
        "parts.P1",
        "parts.P3",
    }


def test_what_was_read_once_need_not_be_read_again_elsewhere() -> None:
    looked = deed("get_member", {"id": "P1", "name": "mainspring", "stock": 4})
    later = deed("list_tools", [{"id": "C1", "name": "mantel clock", "wood": "walnut", "stock": 4}])
    state = START | {"parts": PARTS, "clocks": CLOCKS | {"C1": {**CLOCKS["C1"], "stock": 4}}}
    four = Fact(name="how many", kind="number", value=4)
    said = {
        "initial_state": state,
        "say": "There are 4.",
        "tell": [four],
        "request": "How many are there?",
    }
    assert name_rows(compose((looked, later), **said)) == {"parts.P1"}
    assert name_rows(
        compose((looked, later), **said | {"request": "How many of the walnut clocks are there?"})
    ) == {"clocks.C1"}


def test_what_the_policy_document_says_rests_on_no_row() -> None:
    limit = deed("get_member", {"id": "M1", "name": "Ada", "limit": 3}, member_id="M1")
    composed = compose(
        (limit, *READS),
        polarity="refuse",
        tell=[DUE, TOOLS],
        say="At most 3; hers is due on 14 March 2026.",
    )
    assert name_rows(composed) == {"loans.loan_1"}


def test_a_row_whose_key_is_not_shown_is_known_by_what_is() -> None:
    nameless = (deed("get_member", {"name": "Ada"}, member_id="M1"), OTHER_ROUTE)
    composed = compose(nameless)
    assert paid(composed, nameless, SAY)[0] == "pass"
    assert ["Ada"] in [predicate.shows for predicate in composed.verifier.procedure]


def test_what_is_not_there_is_asked_for_by_the_call() -> None:
    (only,) = compose((deed("get_member", [], member_id="M1"),)).verifier.procedure
    assert (only.op, only.call.name, only.call.arguments) == (
        "required",
        "get_member",
        {"member_id": "M1"},
    )


COUNTED = deed(
    "list_tools", [{"id": "S1", "tools": 2}, {"id": "S2", "tools": 5}, {"id": "S3", "tools": 2}]
)
SHELVES = {
    "request": "How many shelves hold few tools?",
    "say": "2 of them.",
    "tell": [TOOLS.model_copy(update={"value": 2})],
}


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        pytest.param("Two shelves.", "pass", id="the answer"),
        pytest.param("S1 has 2, S2 has 5, S3 has 2.", "fail", id="a recital of the reply"),
        pytest.param(
            "2. And there is loan_2, too.", "fail", id="a record that the oracle never met"
        ),
    ],
)
def test_whoever_recites_what_was_read_has_answered_nothing(said: str, outcome: str) -> None:
    composed = compose((COUNTED,), **SHELVES)
    assert paid(composed, (COUNTED,), [said])[0] == outcome


NEW_LOANS = {
    "loans": START["loans"] | {"loan_9": {"tool": "T1", "member": "M1", "due": "2026-03-14"}}
}
CHANGES = diff_states(START, START | NEW_LOANS)


COPIES = [
    dict(row, id=key, copies_cut=6 - 3 * (place > 0))
    for place, (key, row) in enumerate(START["tools"].items())
]


@pytest.mark.parametrize(
    ("name", "request_", "rivals"),
    [
        (
            "outdated keys that are still out",
            "How many outdated keys did people keep, of all kinds together?",
            [],
        ),
        ("copies that were cut", "How many copies were cut of the first kind?", [3]),
    ],
)
def test_a_count_is_no_columns_number_by_chance(
    name: str, request_: str, rivals: list[int]
) -> None:
    told = Fact(name=name, kind="number", value=6)
    say = "Six: three of the first kind, two of the second and one of the third."
    composed = compose(
        [deed("list_tools", COPIES), ADA],
        tell=[told],
        request=request_,
        say=say if not rivals else "6 were cut.",
    )
    assert [one for one in composed.verifier.facts[0].rivals if isinstance(one, int)] == rivals


def test_an_achievement_that_must_be_told_needs_both() -> None:
    composed = compose(polarity="achieve", changes=CHANGES, avoid=[])
    assert paid(composed, (), SAY, START | NEW_LOANS) == ("pass", 1.0)
    assert paid(composed, (), (), START | NEW_LOANS) == ("fail", 0.0)
    assert paid(composed, (), SAY) == ("fail", 0.0)
    assert composed.verifier.procedure == []


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        pytest.param({"tell": []}, "has to be said", id="nothing told"),
        pytest.param(
            {"request": "Is Ada's axe due on 14 March?"},
            "stands in the request",
            id="in the request",
        ),
        pytest.param(
            {"tell": [TOOLS], "say": "No more than 3."},
            "stands in the policy document",
            id="in the policy document",
        ),
        pytest.param({"say": "Soon."}, "does not say", id="not said"),
        pytest.param(
            {"tell": [Fact(name="x", kind="pattern", value="(")]},
            "cannot be judged",
            id="no pattern",
        ),
        pytest.param(
            {"tell": [POLITE], "polarity": "refuse", "say": "It is free."},
            "anybody says it",
            id="a word of politeness",
        ),
        pytest.param({"reads": ()}, "looks at nothing", id="no reads"),
        pytest.param({"reads": (LEND,)}, "looks at nothing", id="writes alone"),
        pytest.param({"again": (LISTED,)}, "depends on chance", id="another day by chance"),
    ],
)
def test_what_proves_nothing_gives_no_verifier(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        compose(**changes)


def test_a_fact_that_is_given_away_is_left_out_and_named() -> None:
    composed = compose(tell=[DUE, TOOLS], say="It is due on 14 March 2026, one of 3.")
    assert [fact.name for fact in composed.verifier.facts] == [DUE.name]
    assert composed.refused == ("how many tools: it stands in the policy document",)
