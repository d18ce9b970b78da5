"""Whole verifiers: what each polarity has to prove, so that neither doing nothing nor the right words alone are paid."""

from typing import Any

import pytest

from envmill.errors import BuildError
from envmill.verifiers.compose import Composed, Run, compose_verifier
from envmill.verifiers.diff import diff_states
from envmill.verifiers.ending import Deed, Ending
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


def deed(name: str, value: Any, **arguments: Any) -> Deed:
    return Deed(Call(name=name, arguments=arguments), "ok", "", [{"type": "json", "value": value}])


LISTED = deed("list_tools", [dict(row, id=key) for key, row in START["tools"].items()])
ADA = deed("get_member", {"name": "Ada", "loans": [dict(START["loans"]["loan_1"], id="loan_1")]}, member_id="M1")
READS = (LISTED, ADA)


def draft(**changes: Any) -> Draft:
    fields: dict[str, Any] = {
        "environment": SHED.id, "number": 0, "initial_state": START, "request": "When is Ada's axe due?",
        "user": UserContract(opening="When is Ada's axe due?"), "oracle": [one.call for one in READS], "polarity": "answer",
        "clock": "2026-03-02T09:00:00+00:00", "seed": 1, "changes": [], "gold_hash": "h", "say": "It is due on 14 March 2026.",
        "tell": [DUE], "avoid": [CallPattern(name="lend")], "origin": ORIGIN,
    }  # fmt: skip
    return Draft.model_validate(fields | changes)


def compose(reads: Any = READS, again: Any = None, **changes: Any) -> Composed:
    made = changes.get("changes", [])
    return compose_verifier(draft(**changes), SHED, Run(made, reads), Run(made, reads if again is None else again))


def paid(composed: Composed, deeds: Any = (), said: Any = (), final: Any = START) -> tuple[str, float | None]:
    verdict = judge(composed.verifier, Ending(START, final, deeds, said))
    return verdict.outcome, verdict.reward


SAY = ["It is due on 14 March 2026."]
LEND = Deed(Call(name="lend", arguments={"tool_id": "T1", "member_id": "M1"}), "ok")
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
def test_an_untouched_state_is_not_enough(polarity: Any, deeds: Any, said: Any, final: Any, outcome: str) -> None:
    assert paid(compose(polarity=polarity), deeds, said, final) == (outcome, float(outcome == "pass"))


def test_another_route_to_the_same_rows_counts() -> None:
    composed = compose((ADA,))
    assert paid(composed, (OTHER_ROUTE, deed("find", {"M1": {"name": "Ada"}})), SAY)[0] == "pass"
    assert {predicate.op for predicate in composed.verifier.procedure} == {"seen"}


def test_of_a_long_list_only_what_mattered_must_be_seen() -> None:
    rows = [predicate.shows for predicate in compose((LISTED, ADA)).verifier.procedure]
    assert ["T1"] not in rows
    lending = (LISTED, deed("get_member", {"id": "M2", "name": "Bo"}, member_id="M2"), deed("get_tool", {"id": "T2"}, tool_id="T2"))
    assert ["T2"] in [predicate.shows for predicate in compose(lending).verifier.procedure]


def test_a_row_whose_key_is_not_shown_is_known_by_what_is() -> None:
    nameless = (deed("get_member", {"name": "Ada"}, member_id="M1"), OTHER_ROUTE)
    composed = compose(nameless)
    assert paid(composed, nameless, SAY)[0] == "pass"
    assert ["Ada"] in [predicate.shows for predicate in composed.verifier.procedure]


def test_what_is_not_there_is_asked_for_by_the_call() -> None:
    (only,) = compose((deed("get_member", [], member_id="M1"),)).verifier.procedure
    assert (only.op, only.call.name, only.call.arguments) == ("required", "get_member", {"member_id": "M1"})


COUNTED = deed("list_tools", [{"id": "S1", "tools": 2}, {"id": "S2", "tools": 5}, {"id": "S3", "tools": 2}])
SHELVES = {"request": "How many shelves hold few tools?", "say": "2 of them.", "tell": [TOOLS.model_copy(update={"value": 2})]}


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        pytest.param("Two shelves.", "pass", id="the answer"),
        pytest.param("S1 has 2, S2 has 5, S3 has 2.", "fail", id="a recital of the reply"),
        pytest.param("2. And there is loan_2, too.", "fail", id="a record that the oracle never met"),
    ],
)
def test_whoever_recites_what_was_read_has_answered_nothing(said: str, outcome: str) -> None:
    composed = compose((COUNTED,), **SHELVES)
    assert paid(composed, (COUNTED,), [said])[0] == outcome


NEW_LOANS = {"loans": START["loans"] | {"loan_9": {"tool": "T1", "member": "M1", "due": "2026-03-14"}}}
CHANGES = diff_states(START, START | NEW_LOANS)


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
        pytest.param({"request": "Is Ada's axe due on 14 March?"}, "stands in the request", id="in the request"),
        pytest.param({"tell": [TOOLS], "say": "No more than 3."}, "stands in the policy document", id="in the policy document"),
        pytest.param({"say": "Soon."}, "does not say", id="not said"),
        pytest.param({"tell": [Fact(name="x", kind="pattern", value="(")]}, "cannot be judged", id="no pattern"),
        pytest.param({"tell": [POLITE], "polarity": "refuse", "say": "It is free."}, "anybody says it", id="a word of politeness"),
        pytest.param({"reads": ()}, "looks at nothing", id="no reads"),
        pytest.param({"reads": (LEND,)}, "looks at nothing", id="writes alone"),
        pytest.param({"again": (LISTED,)}, "hangs on chance", id="another day by chance"),
    ],
)
def test_what_proves_nothing_gives_no_verifier(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(BuildError, match=message):
        compose(**changes)


def test_a_fact_that_is_given_away_is_left_out_and_named() -> None:
    composed = compose(tell=[DUE, TOOLS], say="It is due on 14 March 2026, one of 3.")
    assert [fact.name for fact in composed.verifier.facts] == [DUE.name]
    assert composed.refused == ("how many tools: it stands in the policy document",)
