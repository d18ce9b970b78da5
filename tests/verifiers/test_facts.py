"""Facts in a message: every usual spelling is heard, and what was made to defeat the ear is not."""

from typing import Any

import pytest

from envmill.base.errors import BuildError
from envmill.verifiers.facts import LONGEST, check_fact, communicates, find_shortfall
from schemas.scenario import Fact


def fact(kind: Any, value: Any, **more: Any) -> Fact:
    return Fact(name="it", kind=kind, value=value, **more)


PRICE, DAY, PLACE = (
    fact("number", 1200.5),
    fact("date", "2026-03-14"),
    fact("text", "Oak Street Library"),
)

PRICES = (
    "1,200.50",
    "1200.5",
    "$1 200.50",
    "€1.200,50",
    "**1,200.50**",
    "1 200,50 EUR",
    "1'200.50",
)
TWELVES = (
    "12",
    "twelve of them",
    "12.0",
    "Twelve!",
    "(12)",
    "12kg",
    "12, not 13",
    "a 12-month plan",
)
DAYS = (
    "2026-03-14",
    "14 March 2026",
    "March 14th",
    "14.03.2026",
    "03/14/2026",
    "14/03/2026",
    "Mar 14, 2026",
    "the 14th of March",
    "2026-03-14T09:00:00+00:00",
)
NO_TWELVES = (
    "112",
    "12.5",
    "1,12",
    "A12",
    "B-12",
    "12/13",
    "12:30",
    "10:12",
    "3-12",
    "12–14",
    "12th",
    "v1.12.3",
    "2026-12-01",
    "12 March",
    "March 12",
    "$12,000",
    "12k",
    "-12",
    "512,12",
)
OTHER_DAYS = (
    "2025-03-14",
    "14 April",
    "13 March 2026",
    "14",
    "March 2026",
    "2026-03-140",
    "114 March",
    "04/14/2026",
    "99.99.2026",
)
OTHER_PLACES = (
    "Oak Street",
    "Oak Streets Library",
    "the library in Oak Street",
    "roak street library",
)


NORAD = fact("number", 41290, rivals=[39512, 42077, 47708, 52649, "ephemeris_0fb653"])
SERVED = "39512, 42077, 47708 and 52649"


@pytest.mark.parametrize(
    ("one", "message"),
    [
        *((PRICE, f"It costs {spelled} in all.") for spelled in PRICES),
        (PRICE, "It costs 1,200.50."),
        *((fact("number", 12), f"There are {spelled}") for spelled in TWELVES),
        *((fact("number", 12), f"{spelled} of it") for spelled in ("12 %", "12%", "12 percent")),
        (fact("number", 0.12), "12 % of it"),
        (fact("number", "12 %"), "The rate is 12 percent."),
        (fact("number", -3), "It is -3 degrees"),
        (fact("number", 10 / 3), "3.33 each"),
        (fact("number", 1), "You have one loan."),
        (fact("number", 0), "zero left"),
        *((DAY, f"On {spelled} at noon") for spelled in DAYS),
        (PLACE, "Pick it up at the OAK  street\nlibrary, please."),
        (PLACE, "It is at **Oak\u00a0Street\u2011Library**."),
        (fact("text", "can't renew"), "You can\u2019t renew it."),
        (fact("text", "not available"), "It is not available."),
        (fact("text", "AB-1234"), "Your code: ab 1234"),
        (fact("text", "Straße"), "STRASSE"),
        (fact("text", "suspended", also=["on hold"]), "The card is on hold."),
        (fact("number", 2, also=["a pair"]), "You have a pair of them."),
        (fact("pattern", r"(?i)two (loans|books) are overdue"), "Two books are overdue"),
        (fact("pattern", r"(?i)\b(paid)"), "It was paid already: {'amount': 14, 'day': '2026-03-01'}"),
        (fact("pattern", r"(?i)\b(paid)"), '{"reason": "It was paid already."}'),
        (fact("number", 5, rivals=[7]), "5, not 7"),
        (fact("text", "Ada", rivals=["Bo", "Cy", "Di"]), "It is Ada. Bo has asked for the room as well."),
        (NORAD, f"4 of our 7 are served: {SERVED}.\n\nThese 3 have none in force: 41290, 45563 and "
"50021."),
        (NORAD, f"None is in force for 41290, 45563 and 50021. The others ({SERVED}) can take the "
"pass."),
        (fact("number", 6, rivals=[8, 3]), "There are 6 outdated keys in all:\n- G1: 1\n- I1: 3 (I1-001, I1-002, I1-003)"),
        (fact("text", "away", rivals=["active", "Corin"]), "I could not: the book has her as away. If she is back, I set her to active."),
        (fact("text", "B-22", rivals=["C-31", "C-40"]), "2 are out:\n- A-11: Hugo\n- B-22: Stan\n\nOmar has C-31; I left it out."),
        *((fact("date", f"2026-03-{day}"), "Done. The shifts on 17, 19 and 21 March lack people.") for day in (17, 19, 21)),
        (fact("date", "2026-03-17"), "on Tuesday the 17th, Thursday the 19th and Saturday the 21st of March 2026"),
        (fact("number", 2), "There are 2, and 3 March will do."),
        (fact("number", 42), "42. That is all."),
        (fact("number", 42), '{"balance": 42, "currency": "EUR"}'),
        (fact("text", "void"), "The slip is void: {'id': 'slip_1', 'month': 'May', 'bonus': 0, 'status': 'void'}"),
        (fact("number", 3, rivals=[1, 2]), "There are 3:\n1. the axe\n2. the drill\n3. the saw"),
        (fact("text", "Oak Street Library", rivals=["Oak Street"]), "Go to Oak Street Library"),
        (fact("number", 12, rivals=[2]), "12 loans"),
        (fact("date", "2026-03-14", rivals=["2025-03-14"]), "14 March 2026"),
        (DAY, "It is not on the 13th of March, it is on March 14th."),
        (fact("number", 12), "No, 12 it is."),
    ],
)  # fmt: skip
def test_what_says_it(one: Fact, message: str) -> None:
    assert communicates(one, message)
    check_fact(one)


@pytest.mark.parametrize(
    ("one", "message"),
    [
        *((fact("number", 200.5), f"It costs {spelled}") for spelled in ("1,200.50", "$1 200.50", "1.200,50")),
        *((fact("number", 12), f"See {spelled} there") for spelled in NO_TWELVES),
        *((fact("number", 1), said) for said in ("no one came", "the one you want", "which one?", "one of them", "one can try")),
        (fact("number", 1200), "1.2"),
        (fact("number", 33.333), "33.3"),
        *((DAY, f"On {spelled}") for spelled in OTHER_DAYS),
        *((PLACE, said) for said in OTHER_PLACES),
        (fact("text", "5 loans"), "1.5 loans"),
        (fact("text", "available"), "It is not available."),
        (fact("text", "available"), "It isn't available."),
        (fact("number", 12), "It is not 12."),
        (DAY, "It is not on the 14th of March."),
        (fact("text", "void"), "{'id': 'slip_1', 'month': 'May', 'bonus': 0, 'status': 'void'}"),
        (fact("text", "void", rivals=["slip_2"]), "It is void. {'id': 'slip_2', 'month': 'May', 'bonus': 0, 'status': 'void'}"),
        (fact("pattern", "(?i)void"), '[{"id": "slip_1", "month": "May", "bonus": 0, "status": "void", "appro'),
        (fact("pattern", r"(?i)\b(paid)"), "[] {'awarded': 15, 'paid': 14, 'available': 205}"),
        (NORAD, f"The satellites have these numbers: {SERVED}, 41290, 45563 and 50021."),
        (NORAD, "Alder is 41290.\nBirch is 39512.\nCedar is 42077.\nElm is 47708."),
        (NORAD, "it is 41290; served\nit is 39512; served\nit is 42077; none"),
        (NORAD, f"41290\n{SERVED}"),
        (NORAD, f"It is 41290. Or it is one of {SERVED}."),
        (fact("number", 6, rivals=[8, 3]), "We looked at 8 keys. There are 6 of them."),
        (fact("number", 6, rivals=[8, 3]), "There are 6 keys. There are 8 keys."),
        (fact("number", 6, rivals=[8, 3]), "There are 6 keys, or 8. I did not count again."),
        (fact("text", "away", rivals=["active", "Corin"]), "She is active. The book has her as away."),
        (fact("text", "away", rivals=["active", "Corin"]), "She is away. She is active."),
        (fact("text", "B-22", rivals=["C-31", "C-40"]), "- B-22: Stan\n- C-31: Omar"),
        (fact("text", "B-22", rivals=["C-31", "C-40"]), "Omar has C-31.\n- B-22: Stan"),
        (fact("text", "Stan", rivals=["key_31", "key_40"]), "Stan has it. There is key_31, too."),
        (fact("text", "away", rivals=["active"]), "The book has her as away. Otherwise she would be active."),
        (fact("date", "2026-03-17"), "on 17 February, 19 and 21 March"),
        (fact("date", "2025-03-17"), "on 17, 19 and 21 March 2026"),
        (fact("number", 5, rivals=[7]), "5 or 7"),
        (fact("number", 3), "1. the axe\n2. the drill\n3. the saw"),
        (fact("number", 3, rivals=[1, 2]), "3 or\n2 or 1"),
        (fact("number", 5, rivals=["7"]), "5 or seven"),
        (fact("date", "2026-03-14", rivals=["2025-03-14"]), "14 March 2026 or 2025-03-14"),
        (fact("text", "Ada", rivals=["Bo", "Cy"]), "Ada Bo Cy Di"),
        (fact("text", "Ada", rivals=["Bo", "Cy"]), "It is Ada. It is Bo."),
        (fact("text", "Ada", rivals=["Bo", "Cy", "Di"]), "It is Ada. It is Bo. It is Cy."),
        (fact("text", "Ada", rivals=["Bo", "Cy", "Di"]), "It is Ada and Bo."),
        (fact("text", "Ada", rivals=["Bo", "Cy", "Di"]), "It is Ada. Or it is Bo."),
        (fact("text", "Ada", rivals=["Bo", "Cy", "Di"]), "Bo has it. Ada is there as well."),
        (fact("text", "Ada", rivals=["Bo", "Cy", "loan_2"]), "It is Ada. There is loan_2 as well."),
        (fact("text", "Oak Street Library", rivals=["Oak Street"]), "Oak Street Library or Oak Street"),
        (fact("text", "yes it is", also=["it is"], rivals=["it is not"]), "no, it is not"),
        (fact("text", "Oak Street", rivals=["Oak Street Library"]), "Go to Oak Street Library"),
        (fact("pattern", r"\d+ loans", rivals=["none"]), "12 loans or none"),
        (PRICE, ""),
        (PRICE, "1,200.50 " + "x" * LONGEST),
        (fact("number", 12), " ".join(map(str, range(2000)))),
    ],
)  # fmt: skip
def test_what_does_not_say_it(one: Fact, message: str) -> None:
    assert not communicates(one, message)


@pytest.mark.parametrize(
    "one",
    [
        fact("pattern", "("), fact("pattern", "(?=x)"), fact("pattern", r"(a)\1"), fact("pattern", "x*"),
        fact("pattern", "x" * 501), fact("pattern", 5),
        fact("number", "many"), fact("number", True), fact("number", "3 or 4"), fact("number", None),
        fact("date", "soon"), fact("date", "March 14"), fact("date", 20260314),
        fact("text", ""), fact("text", "–"), fact("text", "x"), fact("text", "fine", also=["!"]),
        fact("number", 12, weight=0.0), fact("number", 12, weight=-1.0),
    ],
    ids=lambda one: f"{one.kind} {str(one.value)[:12]!r} {one.weight}",
)  # fmt: skip
def test_a_fact_nobody_could_judge_is_refused(one: Fact) -> None:
    with pytest.raises(BuildError, match="cannot be judged"):
        check_fact(one)


def test_only_the_last_words_count_unless_any_may() -> None:
    assert find_shortfall(PRICE, ["It costs 1200.50.", "Anything else?"]) == {
        "found": "Anything else?"
    }
    assert (
        find_shortfall(
            PRICE.model_copy(update={"where": "any"}), ["It costs 1200.50.", "Anything else?"]
        )
        is None
    )
    assert find_shortfall(PRICE, []) == {"found": "nothing was said"}


@pytest.mark.parametrize(
    "message",
    [
        "\ud800 12",
        "\x00",
        "\udfff" * 9,
        "١٢",
        "0000-00-00",
        "9" * 3999,
        "00/00/0000",
        "-",
        "% 12 %",
    ],
)
def test_no_message_keeps_a_verdict_from_being_reached(message: str) -> None:
    for one in (
        fact("number", 77, rivals=[3]),
        DAY,
        PLACE,
        fact("pattern", "x{2}", rivals=["y"]),
        fact("number", 1 / 3),
    ):
        assert find_shortfall(one, [message]) is not None


@pytest.mark.parametrize(
    "message",
    [
        pytest.param("1" * LONGEST, id="one long number"),
        pytest.param("1 " * (LONGEST // 2), id="many numbers"),
        pytest.param("111 " * (LONGEST // 4), id="many groups"),
        pytest.param("1." * (LONGEST // 2), id="many points"),
        pytest.param("1-" * (LONGEST // 2), id="many dashes"),
        pytest.param("march " * (LONGEST // 6), id="many months"),
        pytest.param("not the " * (LONGEST // 8), id="many denials"),
        pytest.param(" " * LONGEST, id="nothing"),
    ],
)
def test_no_message_takes_long(message: str) -> None:
    for one in (
        fact("number", 77, rivals=[3]),
        DAY,
        fact("text", "a a a a a b"),
        fact("pattern", "(a+)+$"),
    ):
        assert find_shortfall(one, [message[:LONGEST]]) is not None


PAIR = fact("text", "M-0512"), fact("text", "M-0612")


@pytest.mark.parametrize(
    ("one", "message", "told"),
    [
        (fact("number", 238), "All in the book. We have 238 or 250 litres now.", False),
        (fact("number", 238), "It is either 226, 238 or 250 litres.", False),
        (fact("number", 238), "238 litres or 250.", False),
        (fact("number", 238), "It is 250 or 238 litres.", False),
        (fact("number", 238), "It is 238, 250 or 226 litres.", False),
        (fact("number", 238), "Of 250, 12 are lees: 238, all of it for us or for the shop.", True),
        (fact("text", "M-0512"), "Perhaps M-0512, M-0612 or M-0521.", False),
        (fact("number", 238), "237 or 238 or 239 litres.", False),
        (fact("number", 112), "You would owe 112.00 or 64.00 altogether.", False),
        (fact("number", 112), "You would owe 112.00 or 11200 cents.", True),
        (fact("number", 112), "You owe 112.00. By card or in 30 days, as you like.", True),
        (fact("number", 112), "Do you owe 112.00 or 64.00?", True),
        (fact("number", 112), "It was 112.00 or 64.00, I looked it up: it is 112.00.", True),
        (fact("date", "2026-03-17"), "On 17 March or on 18 March 2026.", False),
        (fact("date", "2026-03-17"), "On 17 March, or the day after if it rains.", True),
        (fact("text", "10:00"), "It starts at 10:00 or 11:00.", False),
        (fact("text", "M-0512"), "M-0512 or M-0521, one was moved.", False),
        (fact("text", "M-0512"), "M-0512 or M-0612, one of them.", True),
        (fact("text", "M-0512"), "Moved is M-0512. Tell me today or on Friday.", True),
        (fact("text", "Pia Lorenz"), "Pia Lorenz will do it, before or after lunch.", True),
    ],
)  # fmt: skip
def test_an_answer_with_its_alternative_is_none(one: Fact, message: str, told: bool) -> None:
    assert (find_shortfall(one, [message], PAIR) is None) is told
