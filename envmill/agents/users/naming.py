"""Names of facts: the words they are asked for with, and how people say them."""

import re
from collections.abc import Mapping, Sequence, Set
from functools import lru_cache

from envmill.language.dates import read_date
from envmill.language.words import split_words
from schemas.base import Json

_LONGEST_DAY = 30
ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)
PLACES = {word: str(place) for place, word in enumerate(ORDINALS, start=1)}
_NUMBERED = re.compile(r"(.*\S)[ _](\d+)")
"""Facts of one sort bear numbers from the second on: `shop`, `shop 2`."""
_SMALL = frozenset(
    {
        "the",
        "a",
        "an",
        "of",
        "to",
        "for",
        "in",
        "on",
        "at",
        "by",
        "with",
        "your",
        "their",
        "its",
        "and",
        "or",
    }
)
_HEAD_ENDS = frozenset(
    {"of", "for", "to", "on", "in", "at", "by", "with", "from", "that", "who", "which", "until"}
)
"""Words before which the noun of a fact's name ends: `date of the arrival`."""
_ALIKE = 0.6
"""Share of a stored wording's words that a question must hold to ask for the same."""
_UNASKING = _SMALL | frozenset(
    (
        *(
            "what",
            "which",
            "who",
            "whom",
            "when",
            "where",
            "how",
            "is",
            "are",
            "was",
            "were",
            "do",
            "does",
            "did",
            "can",
            "could",
            "will",
        ),
        *(
            "would",
            "shall",
            "should",
            "may",
            "i",
            "me",
            "my",
            "we",
            "you",
            "it",
            "that",
            "this",
            "tell",
            "give",
            "need",
            "know",
            "please",
        ),
        *(
            "want",
            "like",
            "still",
            "before",
            "go",
            "have",
            "has",
            "many",
            "much",
            "long",
            "be",
            "exactly",
            "so",
            "far",
            "one",
        ),
    )
)
"""Words that a question for anything may hold."""


def is_worded(message: str, wordings: Sequence[str]) -> bool:
    """Whether a message holds one of these questions, word for word."""
    return cut_worded(message, wordings) != message


def cut_worded(message: str, wordings: Sequence[str]) -> str:
    """A message without these questions."""
    for one in wordings:
        if words := split_words(one):
            apart = r"[\W_]+".join(map(re.escape, words))
            message = re.sub(rf"(?i)(?<!\w){apart}(?!\w)[\s?.!]*", "\n", message)
    return message


def hold_all(name: str, words: Set[str]) -> bool:
    """Whether every word of a name is among these."""
    return set(name_words(name)) <= words


def find_place(name: str, facts: Mapping[str, Json]) -> str:
    """Which of its sort a fact is; empty for the only one."""
    if numbered := _NUMBERED.fullmatch(name):
        return numbered[2]
    return "1" if f"{name} 2" in facts or f"{name}_2" in facts else ""


def render_name(name: str, facts: Mapping[str, Json]) -> str:
    """A fact as people name it: `the start date`, `the second shop`."""
    place, numbered = find_place(name, facts), _NUMBERED.fullmatch(name)
    plain = (numbered[1] if numbered else name).replace("_", " ").strip()
    owned = plain.lower().startswith(("my ", "our ", "the "))
    bare = plain.partition(" ")[2] if owned else plain
    counted = (
        f"{ORDINALS[int(place) - 1]} {bare}"
        if place and int(place) <= len(ORDINALS)
        else f"{bare} {place}".strip()
    )
    return f"{plain.partition(' ')[0].lower() if owned else 'the'} {counted}"


@lru_cache(512)
def name_words(name: str) -> tuple[str, ...]:
    """The words a fact is asked for with, its number aside; never none."""
    numbered = _NUMBERED.fullmatch(name)
    words = split_stems((numbered[1] if numbered else name).replace("_", " "))
    return tuple(word for word in words if word not in _SMALL) or tuple(words) or (name,)


def split_stems(text: str) -> list[str]:
    """Words without their plural, ordinals as figures."""
    words = (PLACES.get(word, word) for word in split_words(text))
    return [word[:-1] if len(word) > 3 and word.endswith("s") else word for word in words]


def find_head(name: str) -> str:
    """The noun of a fact's name: `date` of `new date of the arrival`."""
    numbered = _NUMBERED.fullmatch(name)
    words = split_stems((numbered[1] if numbered else name).replace("_", " "))
    end = next(
        (place for place, word in enumerate(words) if place and word in _HEAD_ENDS), len(words)
    )
    return words[end - 1] if words else name


def is_day(value: str) -> bool:
    return read_date(value) is not None and len(value) < _LONGEST_DAY


def is_alike(wording: str, words: Set[str]) -> bool:
    told = {find_root(word) for word in split_stems(wording)} - _UNASKING
    return bool(told) and len(told & {find_root(word) for word in words}) >= max(
        _ALIKE * len(told), min(2, len(told))
    )


def count_shared(name: str, text: str) -> int:
    return len(
        {find_root(word) for word in name_words(name)}
        & {find_root(word) for word in split_stems(text)}
    )


def find_root(word: str) -> str:
    """`receiver` and `receives` have one."""
    return re.sub(r"(?:ing|ion|ed|er|or|e|y)$", "", word) if len(word) > 5 else word
