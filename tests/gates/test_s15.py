"""S15: what it must drop, and the near misses it must keep."""

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from envmill.gates import s15
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.reading.known_values import KnownValues
from schemas.environment import Call
from tests.gates.cases import FIND, LIST, LOOK_UP, TOP_UP, Case, answer, ask, check, judge_cases
from tests.gates.specimens import REQUEST, pose
from tests.gates.specimens.studio import STATE


def twin(collection: str, key: str, **changes: Any) -> dict[str, Any]:
    """The state with one more row, like another but for some fields."""
    row = {**STATE[collection][key], "id": "T1", **changes}
    return {**STATE, collection: {**STATE[collection], "T1": row}}


WRONG = Call(name="book_seats", arguments={"member_id": "M1", "class_id": "C3", "seats": 1})
HIS = [FIND, LOOK_UP, TOP_UP, Call(name="cancel_booking", arguments={"booking_id": "B1"})]
RICH = twin("members", "M1", balance=60)

CHEAP = twin("classes", "C1", price=5)

CASES = {
    "a twin": Case(pose(initial_state=twin("members", "M1", balance=60)), "ambiguous_referent"),
    "a twin with a field more that nobody speaks of": Case(
        pose(initial_state=twin("classes", "C1", price=5)), "ambiguous_referent"
    ),
    "half a name": Case(
        ask(REQUEST.replace("Ada Kern", "Ada K."), initial_state=twin("classes", "C1")),
        "ambiguous_referent",
    ),
    "another class than the one asked for": Case(
        pose(oracle=[FIND, LIST, TOP_UP, WRONG]), "wrong_referent"
    ),
    "who speaks says their name": Case(ask(f"This is Bo Lind. {REQUEST}")),
    "who speaks signs": Case(ask(f"{REQUEST}\nBo Lind")),
    "a name in the middle that nothing is done for": Case(
        ask(f"{REQUEST} And give Bo Lind the same, please."), "untouched_referent"
    ),
    "a class that is asked for and not booked": Case(
        ask(f"{REQUEST} She also wants one in Glazing."), "untouched_referent"
    ),
    "one called in small letters": Case(
        ask(
            f"{REQUEST} And cancel for raku-evening.",
            initial_state=twin("classes", "C2", name="raku-evening", title="raku-evening"),
        ),
        "untouched_referent",
    ),
    "a class that nobody speaks of": Case(
        ask("Put 25 on Ada Kern's account and book her one seat."), "ambiguous_referent"
    ),
    "a class that a rule chooses": Case(
        ask("Put 25 on Ada Kern's account and book her one seat in the cheapest that will do.")
    ),
    "a booking that hers leads to": Case(
        ask("Put 25 on Ada Kern's account, and cancel what Bo Lind has booked.", oracle=HIS)
    ),
    "as it is": Case(pose()),
    "a twin on another day": Case(pose(initial_state=twin("classes", "C1", day="Friday"))),
    "a twin that cannot be acted on": Case(pose(initial_state=twin("classes", "C1", free=0))),
    "a namesake": Case(pose(initial_state=twin("members", "M1", name="Ada Kernel", balance=60))),
    "one is excluded": Case(
        ask(f"{REQUEST} Not the one on Friday.", initial_state=twin("classes", "C1", day="Friday"))
    ),
    "the dearer of two": Case(
        ask(
            REQUEST.replace("wheel class", "wheel class with the highest price"),
            initial_state=CHEAP,
        )
    ),
    "the one with the lowest price is another": Case(
        ask(
            REQUEST.replace("wheel class", "wheel class with the lowest price"), initial_state=CHEAP
        ),
        "ambiguous_referent",
    ),
    "nothing is acted on": Case(answer(), outcome="not_applicable"),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s15.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s15(name: str) -> None:
    check(find_all()[name], CASES[name])


@pytest.mark.parametrize(
    ("letter", "text", "said"),
    [
        ("A", "Give the car a permit for zone A.", True),
        ("A", "Give the car in zone A a permit.", True),
        ("A", "A permit for zone D, please.", False),
        ("A", "Please. A car waits.", False),
        ("I", "Close zone I, please.", True),
        ("I", "Close zone I", True),
        ("I", "Close it as I said.", False),
        ("D", "A permit for zone D, please.", True),
        ("a", "Give the car a permit.", False),
    ],
)
def test_a_letter_is_said_where_it_is_no_word(letter: str, text: str, said: bool) -> None:
    assert s15.is_said(letter, KnownValues.of([text], 2026)) is said


def test_the_question_is_the_same_in_whatever_order_a_state_holds_its_rows_and_fields() -> None:
    """A stored scenario holds them in another order than its draft. Another question would be paid
    for again."""
    posed = CASES["a twin"].posed
    state = posed.scenario.initial_state
    turned = {
        name: {key: dict(reversed(row.items())) for key, row in reversed(rows.items())}
        for name, rows in reversed(state.items())
    }
    other = replace(posed, scenario=posed.scenario.model_copy(update={"initial_state": turned}))
    questions: list[str] = []

    async def look(subject: ScenarioCase, means: GateContext) -> Finding:
        questions.append((await s15.check(subject, means)).question)
        return await s15.check(other, means)

    questions.append(judge_cases(look, {"one": Case(posed)})["one"].question)
    assert questions[0]
    assert len(set(questions)) == 1
