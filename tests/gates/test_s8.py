"""S8: what it must drop, and the near misses it must keep."""

from functools import cache

import pytest

from envmill.gates import s8
from envmill.gates.base import Finding, GateContext, ScenarioCase
from envmill.gates.reading.known_values import KnownValues
from envmill.gates.reading.question import leave_out_wishes
from envmill.sandbox import Sandbox
from envmill.verifiers.derive import derive_verifier
from envmill.verifiers.diff import diff_states
from schemas.environment import Call
from schemas.scenario import Fact, UserContract
from tests.gates.cases import (
    BOOK,
    FIND,
    LIST,
    LOOK_UP,
    QUESTION,
    TOP_UP,
    Case,
    answer,
    ask,
    check,
    derived,
    judge_cases,
)
from tests.gates.specimens import REQUEST, ground, pose, vary
from tests.gates.specimens.studio import STATE, end

USUAL = (
    "Please put the usual amount on Ada Kern's account and book her one seat in the Tuesday "
    "wheel class."
)
SPELLED = (
    "Please put € 25.00 on ADA KERN's account; after that, 1 seat for her in the wheel class on "
    "Tuesday."
)
SUM = (
    "Please put 20 and another 5 on Ada Kern's account and book her one seat in the Tuesday "
    "wheel class."
)
KNOWN = UserContract(opening=USUAL, facts={"usual amount": 25})

ALL = Call(name="list_classes", arguments={})
OTHER = Call(name="top_up", arguments={"member_id": "M2", "amount": 25})
TWENTY = Call(name="top_up", arguments={"member_id": "M2", "amount": 20})
BOOKED = [LOOK_UP, Call(name="list_bookings", arguments={"member_id": "M2"})]
TWO = [Call(name="find_members", arguments={"query": name}) for name in ("Ada Kern", "Bo Lind")]


def told(value: str | int, request: str, oracle: list[Call]) -> ScenarioCase:
    """A question, and what the reference path answers."""
    fact = Fact(name="the answer", kind="number" if isinstance(value, int) else "text", value=value)
    return answer(fact, request=request, oracle=oracle, procedure=[], say=f"It is {value}.")


def insured(value: str, request: str) -> ScenarioCase:
    """A question that a record answers with yes."""
    members = {key: row | {"insured": "yes"} for key, row in STATE["members"].items()}
    fact = Fact(name="the answer", kind="text", value=value)
    state = STATE | {"members": members}
    return answer(
        fact,
        request=request,
        oracle=[LOOK_UP],
        procedure=[],
        say=f"The record says {value}.",
        initial_state=state,
    )


HALF = Call(name="top_up", arguments={"member_id": "M2", "amount": 30})
TUESDAY = [FIND, Call(name="list_classes", arguments={"day": "Tuesday"}), TOP_UP]


def wish(told: str, request: str) -> ScenarioCase:
    """A wish that is refused: what is told is whose account it is."""
    fact = Fact(name="whose account it is", kind="text", value=told)
    oracle = [
        Call(name="find_members", arguments={"query": "Lind"}),
        Call(name="find_members", arguments={"query": "Marsh"}),
    ]
    return answer(
        fact,
        polarity="refuse",
        request=request,
        oracle=oracle,
        procedure=[],
        say=f"It is the account of {told}.",
    )


def in_cents(
    value: int, request: str = "How many euros does Bo Lind have on his account?"
) -> ScenarioCase:
    """A question that a record answers in cents."""
    members = {key: row | {"balance": 1800} for key, row in STATE["members"].items()}
    fact = Fact(name="the balance", kind="number", value=value)
    return answer(
        fact,
        request=request,
        oracle=[LOOK_UP],
        procedure=[],
        say=f"It is {value}.",
        initial_state=STATE | {"members": members},
    )


def counted(value: int) -> ScenarioCase:
    """Two changes, and how many classes there are then."""
    fact = Fact(name="number of classes", kind="number", value=value)
    request = f"{REQUEST} And how many classes are there in the week then?"
    return ask(
        request,
        oracle=[FIND, LIST, ALL, TOP_UP, BOOK],
        say=f"Done; {value} classes.",
        verifier=derived(facts=[fact]),
    )


FOUND = sum("n" in row["name"].casefold() for row in STATE["members"].values())


def fee(value: int, request: str = "What does Bo Lind pay for an hour?") -> ScenarioCase:
    """A question that a field of cents answers, where neither question nor fact speaks of money."""
    members = {key: row | {"hour_cents": 1400} for key, row in STATE["members"].items()}
    fact = Fact(name="an hour", kind="number", value=value)
    return answer(
        fact,
        request=request,
        oracle=[LOOK_UP],
        procedure=[],
        say=f"It is {value}.",
        initial_state=STATE | {"members": members},
    )


def without(value: int, request: str = "How many members are not insured?") -> ScenarioCase:
    """Members of whom one has an insurance."""
    members = {
        key: row | {"insured": "by us" if key == "M2" else None}
        for key, row in STATE["members"].items()
    }
    fact = Fact(name="members without", kind="number", value=value)
    everybody = Call(name="find_members", arguments={"query": "n"})
    return answer(
        fact,
        request=request,
        oracle=[everybody],
        procedure=[],
        say=f"It is {value}.",
        initial_state=STATE | {"members": members},
    )


def rule(policy: str, request: str = USUAL) -> ScenarioCase:
    """A studio with this policy document, and an amount that the request leaves out."""
    return ask(request, built=ground(policy_document=policy))


def book(request: str, **given: str) -> ScenarioCase:
    """Seats are booked by a tool that takes a mode, which no row keeps, and two texts, one of which
    a row keeps."""
    built = vary(
        ("seats: int)", "seats: int, mode: str = 'now', remark: str = '', kept: str = '')"),
        (
            "seats: How many",
            "mode: Now or later.\n            remark: A remark.\n            kept: A remark.\n   "
            "         seats: How many",
        ),
        ('"seats": seats,', '"seats": seats, **({"kept": kept} if kept else {}),'),
    )
    booking = BOOK.model_copy(update={"arguments": BOOK.arguments | given})
    ends = [end(*chance) for chance in (("booking_x", "2026-03-02"), ("booking_y", "2027-07-09"))]
    if "kept" in given:
        for state, key in zip(ends, ("booking_x", "booking_y"), strict=True):
            state["bookings"][key] = {**state["bookings"][key], "kept": given["kept"]}
    here, elsewhere = (diff_states(STATE, state) for state in ends)
    verifier = derive_verifier(STATE, here, elsewhere)
    return ask(request, built=built, oracle=[FIND, LIST, TOP_UP, booking], verifier=verifier)


CASES = {
    "a look-up that nothing rests on": Case(
        pose(
            oracle=[
                FIND,
                Call(name="find_members", arguments={"query": "Bo Lind"}),
                LIST,
                TOP_UP,
                BOOK,
            ]
        )
    ),
    "a look-up whose row is acted on": Case(
        ask(REQUEST.replace("Ada Kern", "my neighbour")), "underivable_argument"
    ),
    "cents that are asked for in euros": Case(in_cents(18)),
    "other cents": Case(in_cents(17), "wrong_answer"),
    "cents of something else": Case(
        in_cents(18, "How many tickets does Bo Lind have on his account?"), "wrong_answer"
    ),
    "a field of cents": Case(fee(14)),
    "another amount of cents": Case(fee(13), "wrong_answer"),
    "a field of cents where things are counted": Case(
        fee(14, "How many hours does Bo Lind pay for?"), "wrong_answer"
    ),
    "a count of empty fields": Case(without(FOUND - 1)),
    "another count of empty fields": Case(without(FOUND + 3), "wrong_answer"),
    "a count that the path's own change adds to": Case(counted(len(STATE["classes"]) + 1)),
    "a count that no change of the path explains": Case(
        counted(len(STATE["classes"]) + 40), "wrong_answer"
    ),
    "a calculation": Case(
        told(
            35,
            "How much would Bo Lind have with a seat in the wheel class less than now?",
            [LOOK_UP],
        )
    ),
    "a mode that no row keeps": Case(book(REQUEST, mode="later")),
    "a text that nobody checks": Case(book(REQUEST, remark="by the window")),
    "a name that nobody checks": Case(
        book(REQUEST, remark="Nadia Petrova"), "underivable_argument"
    ),
    "a text that is checked": Case(book(REQUEST, kept="by the window"), "underivable_argument"),
    "a filter that nobody names": Case(ask("Please put 25 on Ada Kern's account.", oracle=TUESDAY)),
    "a number in words": Case(ask(REQUEST.replace("25", "twenty-five"))),
    "an ordinal": Case(ask(REQUEST.replace("25", "the 25th of all those euros"))),
    "another number in words": Case(
        ask(REQUEST.replace("25", "twenty-six")), "underivable_argument"
    ),
    "an amount by what is there": Case(
        ask(
            "Please put half of what Bo Lind has on his account on top of it.",
            oracle=[LOOK_UP, HALF],
        )
    ),
    "a state that is wished for": Case(
        wish("Bo Lind", "I want the member Lind suspended, and Marsh left alone.")
    ),
    "ids out of nowhere": Case(pose(oracle=[TOP_UP, BOOK]), "unseen_id"),
    "one lookup is missing": Case(pose(oracle=[FIND, TOP_UP, BOOK]), "unseen_id"),
    "looked up too late": Case(pose(oracle=[FIND, TOP_UP, BOOK, LIST]), "unseen_id"),
    "an amount nobody says": Case(ask(USUAL), "underivable_argument"),
    "an amount that the policy sets": Case(
        rule("Everybody is helped. Who tops up an account puts 25 on it.")
    ),
    "an amount under a heading of the policy": Case(
        rule("## Putting money on accounts\n- euros: 25\n")
    ),
    "an amount that the policy has of something else": Case(
        rule("Where 25 people of the house quarrel, the mediator decides."), "underivable_argument"
    ),
    "the same, and it is said": Case(
        rule("Where 25 people of the house quarrel, the mediator decides.", REQUEST)
    ),
    "an amount worked out of another wish's": Case(
        ask(
            "Put 20 on the account of Bo Lind and also put the usual on the account of Ada Kern.",
            oracle=[LOOK_UP, FIND, TWENTY, TOP_UP],
        ),
        "underivable_argument",
    ),
    "an amount worked out of its own row": Case(
        ask("Please bring the account of Ada Kern up to 30.", oracle=[FIND, TOP_UP])
    ),
    "an amount that is said of another": Case(
        ask(
            "Please put 25 on Bo Lind's account. Put the usual on the account of Ada Kern.",
            oracle=[LOOK_UP, FIND, OTHER, TOP_UP],
        ),
        "underivable_argument",
    ),
    "the same amount, said of both": Case(
        ask(
            "Please put 25 on Bo Lind's account. Put 25 on the account of Ada Kern.",
            oracle=[LOOK_UP, FIND, OTHER, TOP_UP],
        )
    ),
    "a name nobody says": Case(answer(oracle=[FIND]), "underivable_argument"),
    "an answer from another row": Case(
        told(40, "What did Bo Lind pay for his seat in Glazing?", BOOKED), "wrong_answer"
    ),
    "an answer from another field": Case(
        told(12, "How many free seats does Glazing have?", [ALL]), "wrong_answer"
    ),
    "all are counted": Case(told(4, "How many classes are on Tuesday?", [ALL]), "wrong_answer"),
    "a sum that is none": Case(
        told(78, "What is the total price of all classes?", [ALL]), "wrong_answer"
    ),
    "a status that nobody read": Case(
        told("cancelled", "What is the status of Bo Lind?", [LOOK_UP]), "wrong_answer"
    ),
    "not the cheapest": Case(
        told("Wheel", "Which class has the lowest price?", [ALL]), "wrong_answer"
    ),
    "a no where the record says yes": Case(insured("no", "Is Bo Lind insured?"), "wrong_answer"),
    "a no to a question that denies": Case(insured("no", "Is Bo Lind without being insured?")),
    "a yes": Case(insured("yes", "Is Bo Lind insured?")),
    "a count": Case(told(2, "How many classes are on Tuesday?", [ALL])),
    "a sum": Case(told(77, "What is the total price of all classes?", [ALL])),
    "an extreme": Case(told("Glazing", "Which class has the lowest price?", [ALL])),
    "a difference": Case(
        told(55, "What is the difference between the balances of Ada Kern and Bo Lind?", TWO)
    ),
    "an answer in words of one's own": Case(told("yes", "Is Bo Lind an active member?", [LOOK_UP])),
    "no reference path": Case(pose(oracle=[]), outcome="not_measured"),
    "as it is": Case(pose()),
    "spelled otherwise": Case(ask(SPELLED)),
    "said when asked": Case(pose(request=USUAL, user=KNOWN)),
    "worked out": Case(ask(SUM)),
    "a question": Case(ask(QUESTION, oracle=answer().scenario.oracle)),
}


@cache
def find_all() -> dict[str, Finding]:
    return judge_cases(s8.check, CASES)


@pytest.mark.parametrize("name", CASES)
def test_s8(name: str) -> None:
    check(find_all()[name], CASES[name])


def test_every_unknown_argument_is_reported_and_asked_about() -> None:
    finding = judge_cases(
        s8.check,
        {"all": Case(pose(oracle=[TOP_UP, BOOK], request=USUAL, user=UserContract(opening=USUAL)))},
    )["all"]
    reasons = [one.reason for one in finding.spread()]
    assert reasons == ["unseen_id", "unseen_id", "underivable_argument"]
    asked = [one.question for one in finding.spread() if one.reason == "underivable_argument"]
    assert len(asked) == 1
    assert "25" in asked[0]


PAGE = "The desk sends the menu. The user loads it with the loading code 3620, within 15 minutes."


@pytest.mark.parametrize(
    ("value", "name", "text", "written"),
    [
        (3620, "code load_menu", PAGE, True),
        (3620, "codes", PAGE, True),
        (15, "code load_menu", PAGE, True),
        (15, "amount top_up", PAGE, False),
        (36, "code load_menu", PAGE, False),
        (3620, "code load_menu", "Code 17. There are 3620 machines.", False),
        (3620, "code load_menu", "3620", False),
    ],
)
def test_a_page_tells_an_amount_beside_the_name_of_what_it_is(
    value: int, name: str, text: str, written: bool
) -> None:
    """Real authors put the codes that users type into the pages of a handbook."""
    assert s8.is_written(value, name, {"topic": "menu", "text": text}) is written


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        (
            "I want this agent suspended and somebody else put on it.",
            "I want this agent  and somebody else put on it.",
        ),
        ("Please get it closed.", "Please get it ."),
        ("I want the suspended agent's name.", "I want the suspended agent's name."),
        ("Who is suspended?", "Who is suspended?"),
    ],
)
def test_a_wished_state_describes_nothing(request_: str, left: str) -> None:
    assert leave_out_wishes(request_) == left


@pytest.mark.parametrize(
    ("request_", "left"),
    [
        (
            "The plan P-1 should have description 'for the trial' now.",
            "The plan P-1 should have description  now.",
        ),
        ("Give the plan P-1 description 'for the trial'.", "Give the plan P-1 description ."),
        (
            'Change the description of P-1 to "for the trial", please.',
            "Change the description of P-1 to , please.",
        ),
        (
            "The plan with description 'for the trial' should go.",
            "The plan with description 'for the trial' should go.",
        ),
        (
            "Delete it, it has description 'for the trial'.",
            "Delete it, it has description 'for the trial'.",
        ),
        (
            "It should be the plan whose description is 'for the trial'.",
            "It should be the plan whose description is 'for the trial'.",
        ),
        ("Give 'Blue Moon' a new slot.", "Give 'Blue Moon' a new slot."),
        ("Set the slot of 'Blue Moon' later.", "Set the slot of 'Blue Moon' later."),
    ],
)
def test_a_wished_text_describes_no_row_that_has_it(request_: str, left: str) -> None:
    assert leave_out_wishes(request_, ["description", "slot_id"]) == left


@pytest.mark.parametrize(
    ("value", "text", "known"),
    [
        pytest.param(3750, "Bill 3 hours at 12.50 euros.", True, id="cents of a product of euros"),
        pytest.param(3700, "Bill 3 hours at 12.50 euros.", False, id="other cents"),
        pytest.param(3750, "Bill 3 hours at 12.50.", False, id="no unit"),
        pytest.param(10000, "Put 60 and 40 euros there.", True, id="cents of a sum"),
    ],
)
def test_cents_are_worked_out_of_euros(value: int, text: str, known: bool) -> None:
    assert s8.is_worked_out(value, KnownValues.of([text], 2026), KnownValues(2026)) is known


@pytest.mark.parametrize(
    ("name", "value", "known"),
    [
        pytest.param("year", 2026, True, id="the year of a date"),
        pytest.param("crop_year", "2026", True, id="as a text"),
        pytest.param("month", 3, True, id="the month"),
        pytest.param("year", 2025, False, id="another year"),
        pytest.param("month", 4, False, id="another month"),
        pytest.param("places", 3, False, id="a number that is no part of a date"),
        pytest.param("year", "latest", False, id="a word"),
    ],
)
def test_a_year_is_known_from_a_date(name: str, value: str | int, known: bool) -> None:
    """A look-up takes the year of a crop, and the request says `1 March 2026`."""
    assert s8.is_part_of_day(name, value, {"2026-03-01"}) is known


@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(("value", "source"), [(2026, "unknown"), (2024, "nowhere")])
async def test_a_look_up_by_the_year_of_today_is_kept(
    sandbox: Sandbox, value: int, source: str
) -> None:
    year = Call(name="list_classes", arguments={"day": "Tuesday", "year": value})
    traced = await s8.trace(pose(oracle=[FIND, year, TOP_UP, BOOK]), GateContext(sandbox))
    assert [one.source for one in traced if one.name == "year"] == [source]
