"""A yes before a call: who asks for it, what it was about, and what an answer means."""

import pytest

from envmill.verifiers.consent import LONGEST, find_unagreed, is_yes
from envmill.verifiers.ending import AGREED, CompletedCall, Ending
from envmill.verifiers.judge import judge
from schemas.environment import Call
from schemas.scenario import CallPattern, Fact, Predicate, Verifier

CONFIRM = Predicate(name="ask first", op="agreed", call=CallPattern(name="close"), names=["line"])
QUESTION = "Shall I close line L1 for good?"

LINES = "\n1. Please look at the lamp and tell me its colour."


def close(after: int = 1, outcome: str = "ok", **arguments: str) -> CompletedCall:
    return CompletedCall(
        Call(name="close", arguments=arguments or {"line": "L1"}),
        outcome,  # pyright: ignore[reportArgumentType]
        after=after,
    )


def end(said: list[str], answers: list[str] | None, *deeds: CompletedCall) -> Ending:
    return Ending({}, {}, deeds or (close(len(said)),), said, answers=answers)


@pytest.mark.parametrize(
    ("ending", "agreed"),
    [
        pytest.param(end([QUESTION], ["Yes, please."]), True, id="asked and agreed"),
        pytest.param(
            end([QUESTION, "One moment."], ["Sure", "ok"]), True, id="something said between"
        ),
        pytest.param(
            end(["I will close l1. Do you agree?"], ["go ahead"]), True, id="in other words"
        ),
        pytest.param(end([QUESTION], ["Yes"], close(0)), False, id="done before it was asked"),
        pytest.param(end([QUESTION], []), False, id="no answer yet"),
        pytest.param(end([QUESTION], ["No, not that one."]), False, id="refused"),
        pytest.param(
            end([QUESTION, QUESTION], ["Yes", "Wait, rather not."]), False, id="taken back"
        ),
        pytest.param(end([QUESTION], ["It is 4711."]), False, id="an answer to something else"),
        pytest.param(end(["Shall I go on?"], ["Yes"]), False, id="does not name it"),
        pytest.param(end(["Shall I close line L2?"], ["Yes"]), False, id="another line"),
        pytest.param(end(["I close line L1 now."], ["ok"]), False, id="told, not asked"),
        pytest.param(end([f"{QUESTION} {'All the rules. ' * 60}"], ["Yes"]), False, id="a recital"),
        pytest.param(end([f"{QUESTION}{LINES * 60}"], ["Yes"]), False, id="a recital in lines"),
        pytest.param(end([f"{LINES * 20}2. {QUESTION}"], ["Yes"]), True, id="one of many points"),
        pytest.param(
            end(["1. Line L1.\n2. Shall I close it?"], ["Yes"]), True, id="named in another line"
        ),
        pytest.param(
            end([QUESTION], ["Yes"], close(1), close(1, line="L2")),
            False,
            id="a second one unasked",
        ),
        pytest.param(
            end(["Shall I close L1 and L2?"], ["Yes"], close(1), close(1, line="L2")),
            True,
            id="both named",
        ),
        pytest.param(end([], [], close(0, "rejection")), True, id="refused by the program"),
        pytest.param(end([], []), False, id="nothing was said"),
        pytest.param(
            end(["Hello, how can I help?"], ["Close line L1, I agree to it."]),
            False,
            id="volunteered before it was asked",
        ),
        pytest.param(
            end(["Hello, how can I help?", QUESTION], ["Close line L1, I agree to it.", "Yes."]),
            True,
            id="volunteered, and asked all the same",
        ),
    ],
)
def test_a_call_needs_a_yes(ending: Ending, agreed: bool) -> None:
    assert (find_unagreed(CONFIRM, ending, {}) is None) is agreed


@pytest.mark.parametrize(
    ("answer", "yes"),
    [
        ("yes please resume it but why the lid I don't want to break anything in there", True),
        ("I don't want to break anything", False), ("yes but I don't want to break anything so don't", False),
        ("no I do not want to damage anything", False), ("yes and I don't want to break it", False),
        ("Yes.", True), ("yeah, do it", True), ("OK", True), ("That's right.", True), ("Please do.", True), ("No problem, go ahead", True),
        ("Why not, sure", True), ("No.", False), ("Yes, but not today", False), ("I don't think so", False), ("", False), ("Okra", False),
        ("Hold on", False), ("What does that mean?", False), ("I'd rather keep it", False),
        ('"Yes."', True), ("“Yes, please”", True), ("yes, the 'small' one", True), ("Yes. Is that all right?", True),
        ("It's José here: yes.", True),
        ("Да, yes please.", True), ("ｙｅｓ", True), ("y\u200bes", True), ("Sure thing! 👍", True), ("Yes — don't worry, go ahead", True),
        ('Your page says "yes" in red, what is that?', False), ("My wife's answer was 'yes' to something else", False), ("Yes?", False),
        ("Okay? What will it cost?", False), ("No yes", False), ("yes no", False), ("n\u200bo, yes", False), ("n\u043e, yes", False),
        ("Yes, end yesterday's rental, today's goes on. I tried (reset box), and it was refused: The motor is on; stop it first.", True),
        ("Yes, please go on. As for the glove box, I am afraid I do not know whether the key is in there.", True),
        ("Yes, please book it. I have done it: read display. It says: network joined, update waiting no, locked out no.", True),
        ("Yes, go on. Putting the key in again, then checking the cable. Not starting it.", True),
        ("Yes. Not.", False), ("Sure. Not now.", False),
        ("Yes. I have done it: push plug. No, don't book it.", False), ("Yes. I have done it: push plug. I changed my mind.", False),
        ("Yes. I tried (lock doors), and it was refused: The motor is on. Stop it first.", True),
        ("I have done it: see dash. It says: key known yes.", False), ("Yes. No, wait, do not book it.", False),
        ("Sure. But not today.", False), ("Okay. Please don't close it yet.", False), ("Yes, I do not know which one, so not yet.", False),
        ("No. I have done it: see dash. It says: key known yes.", False), ("The lamp is not on. Yes, go ahead.", True),
        ("Yes. Actually, I would rather keep it.", False), ("Fine. I changed my mind.", False), ("Yes. Don't do it.", False),
        ("n\u0336o\u0336 yes", False), ("\u0443es", False), ("nay, sure of it", False), ("eyes", False), ("yesterday", False),
    ],
)  # fmt: skip
def test_what_agrees(answer: str, yes: bool) -> None:
    assert is_yes(answer) is yes


@pytest.mark.parametrize(
    ("asked", "answer", "yes"),
    [
        ("Shall I stop the charge for 4.50?", "Yes, please stop the charge.", True),
        ("Shall I stop the charge for 4.50?", "Stop it.", False),
        ("Shall I stop the charge for 4.50?", "Yes. No, do not stop it.", False),
        ("Shall I book the visit?", "Yes, stop.", False),
    ],
)
def test_to_stop_is_no_refusal_where_it_was_asked(asked: str, answer: str, yes: bool) -> None:
    assert is_yes(answer, asked) is yes


def test_answers_that_nobody_recorded_are_no_verdict() -> None:
    """Three-valued: what is not known is no failure of the agent's."""
    verifier = Verifier(
        goals=[],
        guards=[],
        frame=[],
        procedure=[CONFIRM],
        facts=[Fact(name="done", kind="text", value="closed")],
    )
    said = [QUESTION, "It is closed."]
    assert judge(verifier, end(said, ["Yes"], close(1))).outcome == "pass"
    assert judge(verifier, end(said, ["No"], close(1))).outcome == "fail"
    assert judge(verifier, end(said, None, close(1))).outcome == "error"
    assert judge(verifier, end(["It is closed."], None, close(0, "rejection"))).outcome == "pass"


def test_a_reference_path_asks_and_is_answered() -> None:
    asked = CompletedCall(Call(name="close", arguments={"line": "L1"}, asks=QUESTION), "ok")
    deeds, said, answers = Ending.ask_along(
        [CompletedCall(Call(name="look"), "ok"), asked], ["Done."]
    )
    assert [deed.after for deed in deeds] == [0, 1]
    assert (said, answers) == ([QUESTION, "Done."], [AGREED])
    assert is_yes(AGREED)
    assert len(QUESTION) < LONGEST
