"""Recipe `tau2`: what users wish is held to what the symptoms tell."""

from envmill.recipes import tau2
from schemas.dialogue_prompts import ComposedReply, WordsReply
from tests.kinds.dialogue.test_recorded import read_recorded


def test_a_wish_promises_no_more_than_the_symptoms_tell() -> None:
    """Nobody can tell the agent of what no symptom speaks of."""
    symptoms = ["The rooms are a bit cold.", "Nobody has told me when the yearly visit will be."]
    composed = ComposedReply(
        initial_state={}, request="", oracle=[], symptoms=symptoms, handed=["A lamp glows red."]
    )

    def find(*goals: str) -> str:
        told = {"opening": " ".join([*symptoms, "A red lamp."]), "stop": "it is warm"}
        words = WordsReply.model_validate(told | {"goals": goals, "persona": "Any."})
        return tau2.find_word_fault(words, composed)

    for wish in (
        "I want the rooms warm again, please.",
        "I want the rooms to be warm and to know when the visit is.",
        "I want to know who takes the red lamp over.",
        "It should all work again, and soon.",
    ):
        assert find(wish) == "", wish
    for wish in (
        "I want the software updated.",
        "I want the yearly visit booked and the controller back in the network.",
        "I want the rooms to get warmer, with enough water in the pump.",
    ):
        assert "no symptom speaks of" in find(wish), wish


def test_wishes_of_real_authors_are_read() -> None:
    """They were shown goals that said more than was broken: what eight of eleven users then wished
    stood in no symptom. The others are kept."""
    refused = list[int]()
    for place, told in enumerate(read_recorded()["scenarios"]):
        user = told["user"]
        words = WordsReply.model_validate(
            {name: user[name] for name in ("opening", "goals", "persona", "stop")}
        )
        composed = ComposedReply(initial_state={}, request="", oracle=[])
        if tau2.find_word_fault(words, composed):
            refused.append(place)
    assert refused == [0, 1, 3, 4, 5, 6, 7, 8]
