"""The order that sentences ask for: only sentences that surely name their changes turn a path
round."""

import pytest

from envmill.gates.reading.change_order import list_other_amounts, order_by_sentences
from envmill.gates.reading.question import Question
from envmill.gates.reading.request_alignment import RequestAlignment, RequestedChange
from envmill.language.words import normalise
from schemas.environment import Call


def change(place: int, sentence: int, verb: str, **named: float) -> RequestedChange:
    """Named by words with their weight; `_` stands for a blank, and what begins with `T` for a
    ticket's number."""
    signs = {("name", verb): 1.0} | {
        ("value", name.replace("_", " ").replace("T", "T-")): weight
        for name, weight in named.items()
    }
    return RequestedChange(place, sentence, Call(name=verb, arguments={}), signs)


@pytest.mark.parametrize(
    ("texts", "wishes", "order"),
    [
        pytest.param(
            ["Book the Wheel class for Ada Kern.", "Then put 25 on the account of Ada Kern."],
            [
                change(0, 1, "top_up", Ada_Kern=1.0, **{"25": 1.0}),
                change(1, 0, "book", Ada_Kern=1.0, Wheel=1.0),
            ],
            [1, 0],
            id="each sentence names its change best",
        ),
        pytest.param(
            ["Solve ticket T-1.", "Then assign ticket T-1 to Rosa."],
            [change(0, 1, "assign", T1=1.0, Rosa=1.0), change(1, 0, "solve", T1=1.0)],
            [1, 0],
            id="one row, told apart by verbs",
        ),
        pytest.param(
            [
                "Pass ticket T-2 on to Mirja, and note that Hillcrest is down.",
                "Then count ticket T-5 towards the Hillcrest outage.",
            ],
            [change(0, 1, "declare", Hillcrest=1.0), change(1, 0, "pass", T2=1.0, Mirja=1.0)],
            None,
            id="a sentence before names it as well",
        ),
        pytest.param(
            [
                "Log a technical matter, urgency urgent.",
                "Then give ticket T-4 to Rosa.",
                "Set ticket T-4 to solved.",
            ],
            [
                change(0, 1, "give", T4=1.0, Rosa=1.0),
                change(1, 0, "solve", T4=1.0, technical=1.0, urgent=1.0),
            ],
            None,
            id="words that are said of many rows",
        ),
    ],
)
def test_an_unsure_sentence_turns_nothing_round(
    texts: list[str], wishes: list[RequestedChange], order: list[int] | None
) -> None:
    assert (
        order_by_sentences(RequestAlignment([Question(normalise(text)) for text in texts], wishes))
        == order
    )


@pytest.mark.parametrize(
    ("text", "other"),
    [
        pytest.param("Book 3 seats at the usual price.", None, id="its own other amount"),
        pytest.param("Book 3 seats for 9.", 9, id="another amount beside its own"),
        pytest.param("Book 3 seats for 7.", None, id="both are said"),
        pytest.param("Book the seats for 9.", 9, id="another amount alone"),
    ],
)
def test_an_amount_of_the_change_itself_is_no_other_amount(text: str, other: int | None) -> None:
    call = Call(name="book", arguments={"seats": 3, "price": 7})
    asked = RequestAlignment(
        [Question(normalise(text))], [RequestedChange(0, 0, call, {("name", "book"): 1.0})]
    )
    found = [float(spare) for _, _, spare in list_other_amounts(asked, [set()])]
    assert found == ([] if other is None else [other])
