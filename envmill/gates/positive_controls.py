"""Planted contamination: alters a protected text as other data would, to measure whether the check
notices it."""

import random
import re
from collections.abc import Callable, Mapping

_NAMES = ("Okello", "Lindqvist", "Marsh", "Tanaka", "Ferreira", "Novak", "Byrne", "Haddad")
_OPENINGS = (
    "Hello, I need some help with this.",
    "Good morning, one thing for you today.",
    "Could you please look into this for me?",
)
_CLOSINGS = (
    "Thanks a lot, and have a good day.",
    "That is all for now.",
    "Please tell me once it is done.",
)
_OTHER_WORDS = {
    "please": "kindly", "need": "want", "want": "need", "help": "assist", "also": "besides", "then": "after that", "change": "alter",
    "check": "verify", "make sure": "see to it", "would like": "want", "and": "as well as", "but": "though", "because": "since",
    "book": "reserve", "buy": "purchase", "tell": "inform", "get": "obtain", "show": "display", "find": "look up", "send": "forward",
}  # fmt: skip
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][a-z]+")
_NUMBER = re.compile(r"\d")
_SENTENCE = re.compile(r"(?<=[.!?])\s+")


def copy_whole(text: str, place: int) -> str:
    """As it stands, among other words."""
    return f"{_OPENINGS[place % 3]} {text} {_CLOSINGS[place % 3]}"


def rename(text: str, place: int) -> str:
    """A clone: other names, other numbers."""
    dice = random.Random(f"rename/{place}")
    return _NUMBER.sub(
        lambda _: str(dice.randrange(10)), _NAME.sub(lambda _: dice.choice(_NAMES), text)
    )


def shuffle(text: str, place: int) -> str:
    """The text with its sentences in another order; for a single sentence, with its clauses in
    another order."""
    parts = _SENTENCE.split(text)
    parts = parts if len(parts) > 1 else re.split(r"(?<=,)\s+", text)
    random.Random(f"shuffle/{place}").shuffle(parts)
    return " ".join(parts)


def reword(text: str, place: int) -> str:
    """A light paraphrase: other function words, and one word in twelve left out."""
    words = text.split()
    kept = [word for number, word in enumerate(words) if number % 12 != (place + 5) % 12]
    told = " ".join(kept)
    for word, other in _OTHER_WORDS.items():
        if (len(word) + place) % 3 == 0:
            told = re.sub(rf"\b{word}\b", other, told)
    return told


PLANTS: Mapping[str, Callable[[str, int], str]] = {
    "copied": copy_whole,
    "renamed": rename,
    "shuffled": shuffle,
    "reworded": reword,
}
"""A free paraphrase is not among them, because it keeps no run of words."""
