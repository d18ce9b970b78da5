"""S12: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s12
from envmill.gates.base import Finding
from schemas.scenario import CallPattern, Check, Fact, Predicate, Verifier
from tests.gates.cases import SIXTY, Case, answer, check, derived, judge_cases, loose
from tests.gates.specimens import pose

ALWAYS = "def check(initial, final):\n    return isinstance(final, dict)\n"
VACUOUS = Check(name="there is a state", op="generated", path=[], source=ALWAYS)
ACTIVE = Check(name="Ada is active", op="equals", path=["members", "M1", "status"], value="active")
CANCELS = Predicate(
    name="nothing is cancelled", op="forbidden", call=CallPattern(name="cancel_booking")
)
REFUNDS = Predicate(name="nothing is refunded", op="forbidden", call=CallPattern(name="refund"))
HEAVY = [
    goal.model_copy(update={"weight": 5.0 if number == 0 else 1.0})
    for number, goal in enumerate(derived().goals)
]
SECOND = Fact(name="the name", kind="text", value="Bo Lind")

CASES = {
    "a check that asks for nothing": Case(
        pose(verifier=derived(guards=[VACUOUS])), "vacuous_criterion"
    ),
    "a rule about a tool that is not there": Case(
        pose(verifier=derived(harm=[REFUNDS])), "unknown_tool"
    ),
    "nothing has to become true": Case(
        pose(verifier=Verifier(goals=[], guards=[ACTIVE], frame=[])), "no_goal"
    ),
    "something to achieve, and only words": Case(answer(SIXTY, polarity="achieve"), "no_criterion"),
    "a refusal without a look": Case(
        answer(SIXTY, polarity="refuse", procedure=[]), "no_criterion"
    ),
    "one goal weighs more than the rest": Case(
        pose(verifier=derived(goals=[*HEAVY, ACTIVE.model_copy(update={"value": "suspended"})])),
        "weighs_too_much",
    ),
    "a fact that nobody asks for": Case(pose(verifier=derived(facts=[SECOND])), "undemanded_fact"),
    "a fact that the request asks for": Case(
        pose(verifier=derived(facts=[SECOND]), request="Put 25 on Ada's account. Who teaches?")
    ),
    "the text of a record as the reason of a refusal": Case(
        answer(SIXTY, SECOND, polarity="refuse"), "undemanded_fact"
    ),
    "as it is": Case(pose()),
    "a guard": Case(pose(verifier=derived(guards=[ACTIVE]))),
    "something that must not be done": Case(pose(verifier=derived(harm=[CANCELS]))),
    "two facts": Case(answer(SIXTY, SECOND)),
    "any change may happen": Case(pose(verifier=loose(*derived().goals))),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s12.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s12(name: str) -> None:
    check(find_all()[name], CASES[name])


def test_an_undemanded_fact_is_a_question_for_a_judge() -> None:
    """Whether somebody asked for it is read, not run: the gate says what it suspects and how a
    reader can find out."""
    finding = find_all()["a fact that nobody asks for"]
    assert s12.CODES[finding.reason] == "suspicion"
    assert finding.question.endswith("without telling the user 'Bo Lind' (the name)?")
