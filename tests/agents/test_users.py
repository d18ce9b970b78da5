"""Simulated users: what they understand, what they tell, and what none of them may do."""

import asyncio
import random
from dataclasses import replace
from typing import Any

import pytest

from envmill.agents.inquiry import ask_for
from envmill.agents.users import USERS
from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.doing import bid, find_deeds, list_deeds
from envmill.agents.users.hearing import understand
from envmill.agents.users.missteps import find_misstep, finds_no_end, list_suspicions
from envmill.agents.users.model import ModelUser
from envmill.agents.users.requests import make_in_turn
from envmill.agents.users.scripted import ScriptedUser, render_fact
from schemas.environment import Call
from schemas.scenario import UserContract
from schemas.turns import UserInput, UserReply
from tests.agents.talks import KNOWN

FACTS: dict[str, Any] = {
    "start_date": "2026-03-14",
    "amount": 450,
    "shop": "Hill",
    "shop 2": "Square",
    "paid": True,
}
CONTRACT = UserContract(opening="Hello.", facts=FACTS)


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        pytest.param("What is the start date?", ["start_date"], id="by name"),
        pytest.param("Please tell me the amounts.", ["amount"], id="a request, in the plural"),
        pytest.param(
            "I need to know your start date and the amount",
            ["start_date", "amount"],
            id="two at once",
        ),
        pytest.param("Which date do you mean?", ["start_date"], id="by the last word alone"),
        pytest.param("Which shop?", ["shop", "shop 2"], id="of several all"),
        pytest.param("Which is the second shop?", ["shop 2"], id="of several the second"),
        pytest.param("Could you tell me the first shop?", ["shop"], id="of several the first"),
        pytest.param("The amount is booked. Is there anything else I can do?", [], id="a courtesy"),
        pytest.param("Let me know if the amount should change.", [], id="an offer"),
        pytest.param("I booked the amount for the start date.", [], id="a report"),
    ],
)
def test_a_fact_is_asked_for_by_its_words(message: str, asked: list[str]) -> None:
    assert list(understand(message, CONTRACT).facts) == asked


@pytest.mark.parametrize(
    ("message", "mood"),
    [
        pytest.param("Shall I go on?", "consent", id="consent"),
        pytest.param("Could you give me more details?", "anything", id="anything"),
        pytest.param("Who is your dentist?", "other", id="something nobody foresaw"),
        pytest.param("One moment, please.", "promise", id="promise"),
        pytest.param("It is done.", "", id="nothing"),
    ],
)
def test_what_else_a_message_wants_is_told_apart(message: str, mood: str) -> None:
    heard = understand(message, CONTRACT)
    assert [
        name for name in ("consent", "anything", "other", "promise") if getattr(heard, name)
    ] == ([mood] if mood else [])


@pytest.mark.parametrize("name", FACTS)
def test_what_an_agent_asks_for_is_what_is_told(name: str) -> None:
    assert list(understand(ask_for([name], FACTS), CONTRACT).facts) == [name]


def test_facts_are_told_as_people_tell_them() -> None:
    told = [render_fact(name, FACTS) for name in FACTS]
    assert told == [
        "The start date is 2026-03-14.", "The amount is 450.", "The first shop is Hill.", "The second shop is Square.", "The paid is yes.",
    ]  # fmt: skip


def list_faults(
    knowledge: UserKnowledge, dialogue: list[Utterance], answer: UserAnswer
) -> list[str]:
    """`proof` or `suspicion` with each misstep."""
    proven = find_misstep(knowledge, dialogue, answer)
    return [
        *([f"proof {proven}"] if proven else []),
        *(f"suspicion {one}" for one in list_suspicions(knowledge, dialogue, answer)),
    ]


async def talk(*messages: str) -> list[UserAnswer]:
    """What the scripted user says to one message after the other."""
    user, dialogue, answers = (
        ScriptedUser(KNOWN),
        [Utterance("user", KNOWN.contract.opening)],
        list[UserAnswer](),
    )
    for message in messages:
        dialogue.append(Utterance("agent", message))
        answers.append(await user.answer(dialogue))
        assert list_faults(KNOWN, dialogue, answers[-1]) == []
        dialogue.append(Utterance("user", answers[-1].text))
    return answers


@pytest.mark.parametrize(
    ("messages", "said"),
    [
        pytest.param(["Which tool?"], ["The tool is drill."], id="what is asked"),
        pytest.param(
            ["Any details?"], ["What would you like to know?"], id="no more than what is asked"
        ),
        pytest.param(
            ["What is your member id?"],
            ["I have no number at hand."],
            id="what is not known, by its word",
        ),
        pytest.param(["How old are you?"], ["I could not say."], id="what is not known"),
        pytest.param(["Shall I lend the drill to Ada?"], ["Yes, please."], id="consent"),
        pytest.param(["Let me look."], ["All right, go on."], id="patience"),
    ],
)
async def test_the_scripted_user_plays_its_contract(messages: list[str], said: list[str]) -> None:
    answers = await talk(*messages)
    assert [(one.text, one.end) for one in answers] == [(text, "") for text in said]


@pytest.mark.parametrize(
    ("messages", "end"),
    [
        pytest.param(["Done: Ada has the drill. Anything else I can do?"], "content", id="done"),
        pytest.param(["I am sorry, I cannot do that."], "content", id="refused"),
        pytest.param(["How old are you?"] * 3, "gave_up", id="asked for nothing it knows"),
        pytest.param([""] * 3, "gave_up", id="told nothing"),
    ],
)
async def test_the_scripted_user_stops(messages: list[str], end: str) -> None:
    *before, last = await talk(*messages)
    assert (last.end, {one.end for one in before} - {""}) == (end, set())


WORDS = (
    "the what which member name tool card drill saw Ada Bo lend date ? . please id 12 M1 done tell"
)


async def test_no_scripted_user_ever_breaks_its_contract() -> None:
    dice, words = random.Random(3), WORDS.split()
    for _ in range(300):
        await talk(*[" ".join(dice.choices(words, k=dice.randint(1, 9))) for _ in range(3)])


ASKED, UNASKED, DONE = "Which tool would you like?", "How can I help?", "The drill is lent to Ada."


@pytest.mark.parametrize(
    ("message", "answer", "fault"),
    [
        pytest.param(ASKED, UserAnswer("The drill, please."), "", id="as it should be"),
        pytest.param(DONE, UserAnswer("Thanks!", "content"), "", id="content"),
        pytest.param(UNASKED, UserAnswer("A tool, for the fence."), "", id="what is not hidden"),
        pytest.param(ASKED, UserAnswer(" "), "proof silent", id="silent"),
        pytest.param(
            ASKED, UserAnswer("Never mind.", "content"), "suspicion stops_early", id="stops early"
        ),
        pytest.param(ASKED, UserAnswer("I do not know."), "suspicion contradicts", id="forgets"),
        pytest.param(
            UNASKED,
            UserAnswer("I am Ada and want a tool."),
            "suspicion reveals",
            id="tells unasked",
        ),
        pytest.param(
            ASKED,
            UserAnswer("The drill, until 3 April 2026."),
            "suspicion invents",
            id="invents a date",
        ),
        pytest.param(
            ASKED,
            UserAnswer("The drill, for 75 euros."),
            "suspicion invents",
            id="invents an amount",
        ),
        pytest.param(
            ASKED,
            UserAnswer("The drill. My card is K-4711."),
            "suspicion invents",
            id="invents a code",
        ),
        pytest.param(ASKED, UserAnswer("The drill, one or two days."), "", id="counts"),
    ],
)
def test_what_no_user_may_do_is_found(message: str, answer: UserAnswer, fault: str) -> None:
    faults = list_faults(
        KNOWN, [Utterance("user", KNOWN.contract.opening), Utterance("agent", message)], answer
    )
    assert faults[:1] == ([fault] if fault else [])


@pytest.mark.parametrize(
    ("value", "answer", "fault"),
    [
        pytest.param(450, "It is 500.", "suspicion contradicts", id="another number"),
        pytest.param(450, "450.00, I think", "", id="the number, spelled otherwise"),
        pytest.param("2026-03-14", "On 15 March 2026.", "suspicion contradicts", id="another date"),
        pytest.param("2026-03-14", "On the 14th of March.", "", id="the date, spelled otherwise"),
    ],
)
def test_numbers_and_dates_are_compared_as_such(value: Any, answer: str, fault: str) -> None:
    known = UserKnowledge(
        UserContract(opening="Hi.", facts={"limit": value}, hidden=["limit"]), "Set the limit."
    )
    assert list_faults(
        known,
        [Utterance("user", "Hi."), Utterance("agent", "What is the limit?")],
        UserAnswer(answer),
    )[:1] == ([fault] if fault else [])


def test_the_same_again_and_again_is_a_misstep_of_whom_it_is() -> None:
    said = "I would like to have it soon."
    other = [
        line
        for word in ("Noted. Where to?", "Noted. When?")
        for line in (Utterance("agent", word), Utterance("user", said))
    ]
    same = [
        line
        for _ in range(2)
        for line in (Utterance("agent", "Where to?"), Utterance("user", said))
    ]
    assert list_faults(KNOWN, [*other, Utterance("agent", "How?")], UserAnswer(said)) == [
        "suspicion repeats"
    ]
    assert list_faults(KNOWN, [*same, Utterance("agent", "Where to?")], UserAnswer(said)) == []


@pytest.mark.parametrize(
    ("value", "message", "answer", "proven"),
    [
        pytest.param(450, "How much may it be?", "500.", True, id="another number"),
        pytest.param("K-17", "How much may it be?", "K-71", True, id="another code"),
        pytest.param("2026-03-14", "How much may it be?", "15 March 2026", True, id="another date"),
        pytest.param(
            450, "How much may it be?", "450 EUR", False, id="the number, spelled otherwise"
        ),
        pytest.param(
            "2026-03-14", "How much may it be?", "14 March", False, id="the date, spelled otherwise"
        ),
        pytest.param(
            450,
            "How much may it be?",
            "Four hundred and fifty, I am back in 15 minutes.",
            False,
            id="a number beside others",
        ),
        pytest.param(450, "How much may it be?", "Yes.", False, id="no number"),
        pytest.param(
            450,
            "How much may it be, and what did you pay last year?",
            "500.",
            False,
            id="the answer to something else",
        ),
        pytest.param("K-17", "How much may it be?", "17", False, id="of another sort"),
    ],
)
def test_a_stored_question_answered_with_another_value_alone_is_proof(
    value: Any, message: str, answer: str, proven: bool
) -> None:
    contract = UserContract(
        opening="Hi.",
        facts={"limit": value},
        hidden=["limit"],
        wordings={"limit": ["How much may it be?"]},
    )
    dialogue = [Utterance("user", "Hi."), Utterance("agent", message)]
    assert find_misstep(
        UserKnowledge(contract, "Set the limit."), dialogue, UserAnswer(answer)
    ) == ("contradicts" if proven else "")


def test_a_question_stored_for_two_facts_proves_nothing() -> None:
    stored = {"limit": ["Which one?"], "day": ["Which one?"]}
    contract = UserContract(
        opening="Hi.", facts={"limit": 450, "day": 12}, hidden=["limit", "day"], wordings=stored
    )
    dialogue = [Utterance("user", "Hi."), Utterance("agent", "Which one?")]
    assert find_misstep(UserKnowledge(contract, "Set it."), dialogue, UserAnswer("12")) == ""


@pytest.mark.parametrize(
    "message", ["How can I help you today?", "Hello again! What can I do for you?"]
)
async def test_a_user_who_is_asked_what_they_want_says_it_again_and_goes_on(message: str) -> None:
    answers = await talk("Which tool?", message, "Which member name?")
    assert [(one.text, one.end) for one in answers[1:]] == [
        (KNOWN.contract.opening, ""),
        ("The member name is Ada.", ""),
    ]


def test_who_goes_on_when_nothing_is_asked_finds_no_end() -> None:
    lines = [
        line for _ in range(3) for line in (Utterance("agent", DONE), Utterance("user", "And now?"))
    ]
    assert finds_no_end(KNOWN, lines)
    assert not finds_no_end(KNOWN, [*lines, Utterance("agent", ASKED)])


def test_users_are_in_one_table() -> None:
    assert list(USERS) == ["scripted", "model"]


PATH = [
    Call(name="pay_fine", arguments={"fine": 1}, actor="user"),
    Call(name="list_fines"),
    Call(name="move_hive", actor="user"),
    Call(name="pay_fine", arguments={"fine": 2}, actor="user"),
]
DEEDS = list_deeds(PATH)
ABLE = UserKnowledge(KNOWN.contract, KNOWN.request, DEEDS)


def test_deeds_are_the_calls_that_are_not_the_agents() -> None:
    assert list(DEEDS.items()) == [
        ("pay fine", PATH[0]),
        ("move hive", PATH[2]),
        ("pay fine 2", PATH[3]),
    ]


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        pytest.param("Could you please move the hive yourself?", ["move hive"], id="bidden"),
        pytest.param(
            "I looked it up. Please pay the fines.", ["pay fine", "pay fine 2"], id="of several all"
        ),
        pytest.param("Could you pay the second fine?", ["pay fine 2"], id="of several the second"),
        pytest.param("Could you tell me which hive to move?", [], id="a question about it"),
        pytest.param("Shall I move the hive, please?", [], id="the agent's own offer"),
        pytest.param("I will move the hive and pay the fine.", [], id="an announcement"),
        pytest.param("Could you look at the hive?", [], id="something else"),
        pytest.param("Done.", [], id="nothing"),
    ],
)
async def test_a_user_does_what_it_is_bidden_and_nothing_else(
    message: str, meant: list[str]
) -> None:
    assert list(find_deeds(message, DEEDS)) == meant
    dialogue = [Utterance("user", "Hello."), Utterance("agent", message)]
    answer = await ScriptedUser(ABLE).answer(dialogue)
    assert list(answer.does) == meant
    assert list_faults(ABLE, dialogue, answer) == []


@pytest.mark.parametrize(
    ("message", "meant"),
    [
        pytest.param(
            "Could you please move hive H-464 yourself?", ["move hive"], id="the one of the request"
        ),
        pytest.param(
            "Could you please move hive col_b9f50eb5 yourself?",
            ["move hive"],
            id="the one of the deed",
        ),
        pytest.param(
            "H-999 is full. Could you please move the hive yourself?",
            ["move hive"],
            id="another in another sentence",
        ),
        pytest.param("Could you please move hive H-999 yourself?", [], id="one nobody spoke of"),
    ],
)
async def test_a_user_leaves_what_nobody_spoke_of_alone(message: str, meant: list[str]) -> None:
    deeds = {
        "move hive": Call(name="move_hive", arguments={"hive_id": "col_b9f50eb5"}, actor="user")
    }
    able = UserKnowledge(KNOWN.contract, "Move hive H-464.", deeds)
    dialogue = [Utterance("user", "Hello."), Utterance("agent", message)]
    answer = await ScriptedUser(able).answer(dialogue)
    assert list(answer.does) == meant
    assert bool(meant) or "H-999 is not the one I mean" in answer.text
    assert list_faults(able, dialogue, answer) == []


@pytest.mark.parametrize("name", DEEDS)
def test_what_a_user_is_bidden_is_what_is_done(name: str) -> None:
    assert list(find_deeds(bid(name, DEEDS), DEEDS)) == [name]


class Told:
    """An account whose model always answers the same."""

    def __init__(self, reply: UserReply) -> None:
        self.reply, self.asked = reply, list[UserInput]()

    async def ask(self, _prompt: Any, inputs: UserInput, *_: Any, **__: Any) -> UserReply:
        self.asked.append(inputs)
        return self.reply


@pytest.mark.parametrize(
    ("message", "does", "fault"),
    [
        pytest.param("Please move the hive.", ["move hive"], "", id="bidden"),
        pytest.param("What shall it be?", ["move hive"], "suspicion oversteps", id="unbidden"),
        pytest.param("Please sell the hive.", ["sell hive"], "proof oversteps", id="not theirs"),
    ],
)
async def test_a_model_may_do_what_it_is_bidden_alone(
    message: str, does: list[str], fault: str
) -> None:
    models: Any = Told(UserReply(text="", stop=False, does=does))
    dialogue = [Utterance("user", "Hello."), Utterance("agent", message)]
    answer = await ModelUser(ABLE, models, 0).answer(dialogue)
    assert models.asked[0].deeds == list(DEEDS)
    assert answer.does == tuple(does)
    assert list_faults(ABLE, dialogue, answer)[:1] == ([fault] if fault else [])
    assert models.asked[0].request == ABLE.request


IN_TURN = UserContract(
    opening="Please lend me the drill.",
    facts={"tool": "drill"},
    later=["And the saw, too.", "When is it due?"],
)
WHOLE = UserKnowledge(IN_TURN, "Please lend me the drill.\n\nAnd the saw, too.\n\nWhen is it due?")


def answer_all(*messages: str) -> list[tuple[str, str]]:
    person, dialogue = make_in_turn(WHOLE, ScriptedUser), [Utterance("user", IN_TURN.opening)]
    answers: list[tuple[str, str]] = []
    for message in messages:
        dialogue.append(Utterance("agent", message))
        answer = asyncio.run(person.answer(dialogue))
        dialogue.append(Utterance("user", answer.text))
        answers.append((answer.text, answer.end))
    return answers


def test_requests_are_made_in_turn_and_none_before_the_one_before_is_ended() -> None:
    told = answer_all(
        "Which tool shall I lend you?",
        "It is lent.",
        "What can I do for you?",
        "That is lent, too.",
        "On Friday.",
    )
    assert [end for _, end in told] == ["", "", "", "", "content"]
    assert [text for text, _ in told if text in IN_TURN.later] == [
        IN_TURN.later[0],
        *[IN_TURN.later[0]],
        IN_TURN.later[1],
    ]
    assert "saw" not in told[0][0]
    assert told[2][0] == IN_TURN.later[0], (
        "asked what it wants, the user says the present request again"
    )


def test_a_user_who_has_had_enough_makes_no_further_request() -> None:
    asks = "What is your favourite colour, may I ask?"
    told = answer_all(asks, asks, asks)
    assert told[-1][1] == "gave_up"
    assert not {text for text, _ in told} & set(IN_TURN.later)


def test_a_model_that_plays_the_user_knows_nothing_of_later_requests() -> None:
    models: Any = Told(UserReply(text="Thanks.", stop=True))
    goals = ["They have the drill.", "They have the saw.", "They know the day."]
    whole = replace(
        WHOLE,
        contract=IN_TURN.model_copy(
            update={"goals": goals, "stop": "they have both and know the day"}
        ),
    )
    person, dialogue = (
        make_in_turn(whole, lambda knowledge: ModelUser(knowledge, models, 0)),
        [Utterance("user", IN_TURN.opening)],
    )
    for _ in range(3):
        dialogue.append(Utterance("agent", "It is done."))
        answer = asyncio.run(person.answer(dialogue))
        dialogue.append(Utterance("user", answer.text))
    assert [one.goals for one in models.asked] == [
        [IN_TURN.opening],
        *([request] for request in IN_TURN.later),
    ]
    assert not any("saw" in one.model_dump_json() for one in models.asked[:1])
    assert not any("both" in one.stop for one in models.asked)
