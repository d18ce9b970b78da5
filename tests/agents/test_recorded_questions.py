"""Questions that a strong model asked, as they were recorded: each gets the fact that it asks for,
and no other answer."""

import pytest

from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.missteps import find_misstep, list_suspicions
from envmill.agents.users.scripted import ScriptedUser
from schemas.scenario import UserContract

HANDOVER = UserKnowledge(
    UserContract(
        opening="The Karlsborg made fast. The Tern has just let go. The Sandvik can't make "
"Wednesday, move her. The Alma is to come in.",
        facts={
            "vessel made fast": "Karlsborg", "vessel on her way out": "Tern", "vessel to be moved": "Sandvik",
            "new date of the Sandvik": "2026-03-05", "vessel to come in": "Alma", "berth for the Alma": "Q2",
            "date for the Alma": "2026-03-04",
        },
        hidden=["new date of the Sandvik", "berth for the Alma"],
        fallbacks={
            "reference": "I never look at those numbers, go by the ship's name.", "tug": "Leave the tugs as they are booked.",
            "hour": "As early as the water lets her, I can't look at the tables from here.", "": "Don't know, I'm on my way home already.",
        },
    ),
    "Move the Sandvik to Thursday 5 March; the Alma is to come in to berth Q2 on Wednesday 4 "
"March.",
)  # fmt: skip
TUG = UserKnowledge(
    UserContract(
        opening="Good morning. The master of the Sorrel Bay wants one particular tug and no other, I "
        "will tell you which.",
        facts={"vessel": "Sorrel Bay", "date of the arrival": "2026-03-04", "tug": "Bison"},
        hidden=["tug"],
        fallbacks={
            "reference": "I do not have your movement number.",
            "": "That I cannot tell you, please see what your records say.",
        },
    ),
    "Please book the Bison for the arrival of the Sorrel Bay on 4 March.",
)
SHIFT = UserKnowledge(
    UserContract(
        opening="Queen of Skagen comes later in the day, and somebody else goes as second.",
        facts={"vessel": "Queen of Skagen", "new hour": "14:00", "badge of the second": "P-35"},
        hidden=["new hour", "badge of the second"],
    ),
    "Queen of Skagen comes at 14:00, and P-35 goes as second.",
)
SICK = UserKnowledge(
    UserContract(
        opening="Ingrid Solberg is out, one of the others takes her Tuesday job and another one hers "
        "on Wednesday.",
        facts={
            "sick pilot": "Ingrid Solberg",
            "pilot for Tuesday": "Arne Vik",
            "pilot for Wednesday": "Kari Dahl",
        },
        hidden=["pilot for Tuesday", "pilot for Wednesday"],
    ),
    "Arne Vik takes her Tuesday job and Kari Dahl hers on Wednesday.",
)
HIVES = UserKnowledge(
    UserContract(
        opening="Edwin Marsh here. I went through hive H-07 and took 14 kg of honey off it, 5 kg go "
        "to a fellow member.",
        facts={
            "member": "Edwin Marsh",
            "hive": "H-07",
            "inspection day": 128,
            "receiver": "Farah Haddad",
            "honey shared": 5,
        },
        hidden=["inspection day", "receiver"],
        fallbacks={"": "I'm afraid I don't know that."},
    ),
    "On day 128 I inspected hive H-07. 5 kg go to Farah Haddad.",
)


async def hear(knowledge: UserKnowledge, *messages: str) -> UserAnswer:
    """What the user says to the last of these messages."""
    user, dialogue, answer = (
        ScriptedUser(knowledge),
        [Utterance("user", knowledge.contract.opening)],
        UserAnswer(""),
    )
    for message in messages:
        dialogue.append(Utterance("agent", message))
        answer = await user.answer(dialogue)
        assert (
            find_misstep(knowledge, dialogue, answer),
            list_suspicions(knowledge, dialogue, answer),
        ) == ("", [])
        dialogue.append(Utterance("user", answer.text))
    return answer


@pytest.mark.parametrize(
    ("knowledge", "message", "told", "kept"),
    [
        pytest.param(
            HANDOVER,
            "The first two are in: the Karlsborg's arrival (M-0105) is completed, she is "
            "alongside Q3, and the Tern's departure "
            "(M-0107) is "
            "started, she is under way.\n\nFor the other two I need one thing each from you "
            "before I enter anything:\n1. Sandvik "
            "(M-0108, now "
            "Wednesday 4 March at 12:00 to Q5): to which day shall I move her?\n2. Alma on "
            "Wednesday 4 March: to which berth "
            "shall she come? "
            "Her earliest hour depends on the depth there, so I can only give you the number and "
            "the hour once I know the berth.",
            ["2026-03-05", "Q2"],
            ["Alma."],
            id="a day and a berth, in a list",
        ),
        pytest.param(
            HANDOVER,
            "Yes, the Alma. I still need two things from you, nothing is changed for these two "
            "yet:\n1. Sandvik (M-0108): which "
            "day shall she "
            "come instead of Wednesday 4 March? 12:00 stays.\n2. Alma, Wednesday 4 March: which "
            "berth shall she come to (for "
            "instance Q1, Q2, "
            "Q5 or Q6)? With the berth I can take the earliest hour that has enough water and "
            "give you the number and the hour.",
            ["2026-03-05", "Q2"],
            ["Alma."],
            id="asked again",
        ),
        pytest.param(
            HANDOVER,
            "Two things are still missing: to which date shall I move the Sandvik's arrival, and "
            "which berth (its code, such as "
            "Q1) shall the "
            "other vessel come in to?",
            ["2026-03-05", "Q2"],
            ["Alma."],
            id="two clauses of one sentence",
        ),
        pytest.param(
            HANDOVER,
            "Let me take it step by step, first the Sandvik: what is the new date for her arrival?",
            ["2026-03-05"],
            ["Q2"],
            id="one of two",
        ),
        pytest.param(
            HANDOVER,
            "I have the tables here, I will look up the hour myself. Which berth is it to be: "
            "Q1, Q2, Q5 or Q6?",
            ["Q2"],
            ["2026-03-05"],
            id="a berth of several",
        ),
        pytest.param(
            HANDOVER,
            "At which hour shall she come?",
            ["As early as the water lets her"],
            ["Q2", "2026"],
            id="what it does not know",
        ),
        pytest.param(
            HANDOVER,
            "Which tug shall I book for the Alma?",
            ["Leave the tugs"],
            ["Q2", "2026"],
            id="a thing it does not know",
        ),
        pytest.param(
            HANDOVER, "Tell me everything you know.", [], ["Q2", "2026-03-05"], id="everything"
        ),
        pytest.param(
            TUG,
            "Good morning, Ms Brandt. I have the Sorrel Bay's arrival in front of me: M-0006, "
            "Wednesday 4 March at 14:00, with no "
            "tug booked so "
            "far. You did not say which tug the master wants, though, and as he will have no "
            "other I do not want to guess. Which "
            "one shall I "
            "book? In service are the Bittern (40 t), the Gannet (45 t) and the Bison (50 t).",
            ["Bison"],
            ["Yes"],
            id="which one",
        ),
        pytest.param(
            TUG,
            "Thank you, but I still need the name: which of the three does the master want for "
            "M-0006, the Bittern, the Gannet or "
            "the Bison? "
            "I will book that one as soon as I know; nothing is booked yet.",
            ["Bison"],
            ["Yes"],
            id="which of three",
        ),
        pytest.param(
            TUG, "Is it the Bittern or the Bison?", ["Bison"], ["Yes"], id="one or the other"
        ),
        pytest.param(
            TUG,
            "I still need the name of the tug before I can book anything.",
            ["Bison"],
            [],
            id="a statement of need",
        ),
        pytest.param(
            TUG,
            "Which berth does she lie at?",
            ["I cannot tell you"],
            ["Bison"],
            id="something else",
        ),
        pytest.param(
            TUG,
            "Shall I go ahead with the arrival?",
            ["Yes, please."],
            ["Bison"],
            id="consent alone",
        ),
        pytest.param(
            SHIFT,
            "For the Queen of Skagen (MV-0309, Thursday 5 March, now 10:00 for 4 hours) I need "
            "two things before I change "
            "anything:\n1. At what "
            "hour does she come now?\n2. Who goes as second in Runar Eide's place?\nSigrid Foss "
            "will stay lead. Until I hear from you the "
            "movement stays as it is.",
            ["14:00", "P-35"],
            [],
            id="an hour and a person",
        ),
        pytest.param(
            SICK,
            "Who has said yes to the Tuesday job, and who to the Wednesday job? Please give me "
            "the full names or badge numbers; "
            "several pilots "
            "would be free, so I don't want to guess.",
            ["Arne Vik", "Kari Dahl"],
            [],
            id="two people in one sentence",
        ),
        pytest.param(
            SICK, "Who takes the Tuesday job?", ["Arne Vik"], ["Kari Dahl"], id="one of two people"
        ),
        pytest.param(
            HIVES,
            "On which day did you inspect the hive?",
            ["128"],
            ["Farah"],
            id="a day that is a number",
        ),
        pytest.param(
            HIVES,
            "Who receives the 5 kg of honey?",
            ["Farah Haddad"],
            ["128"],
            id="by the root of its name",
        ),
    ],
)
async def test_a_fact_is_told_to_whoever_asks_for_it(
    knowledge: UserKnowledge, message: str, told: list[str], kept: list[str]
) -> None:
    answer = await hear(knowledge, message)
    assert answer.end == ""
    assert [one for one in told if one not in answer.text] == []
    assert [one for one in kept if one in answer.text] == []


async def test_nobody_says_that_is_all_before_what_they_hide_was_asked_for() -> None:
    early = await hear(TUG, "I have noted the arrival of the Sorrel Bay.")
    assert "that is all" not in early.text
    late = await hear(TUG, "Which tug shall I book?", "The Bison is booked.")
    assert (late.text, late.end) == ("Thank you, that is all.", "content")


async def test_an_agent_that_speaks_of_what_is_hidden_gets_a_second_chance() -> None:
    spoken = "The name of that tug would help me."
    first = await hear(TUG, spoken)
    assert (first.end, "Bison" in first.text) == ("", False)
    assert (await hear(TUG, spoken, spoken)).end == "content"
    assert "Bison" in (await hear(TUG, spoken, "Yes: which tug is it?")).text


async def test_a_talkative_person_tells_all_they_have() -> None:
    chatty = TUG.contract.model_copy(
        update={"persona": "A chatty agent who volunteers more than she is asked."}
    )
    assert (
        "Bison"
        in (await hear(UserKnowledge(chatty, TUG.request), "Could you give me more details?")).text
    )
