"""Words in a message: a normal form for comparing, mentions with their spans, and denied mentions.

message ──normalise──► plain text ──find_words──► spans ──is_denied──► stated, or denied
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""Start and end in a normalised text."""

_INVISIBLE: dict[int, None] = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_LOOKS = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2212": "-", "\u2010": "-", "\u2011": "-"})
_WORD = re.compile(r"[^\W_]+(?:(?<=\d)[.,](?=\d)[^\W_]+)*")
# The negator must stand directly before the mention. A negator farther away may deny something
# else, and no pattern can tell.
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot|without|neither|nor|no)|n't)(?:\s+(?:on|at|the|a|an|for|to|by|in|"
    r"be|from|of|is|it))*\s+[$€£*_\"'(]*$"
)
_REACH = 48
"""Number of characters before a mention that are searched for a negator."""
_REMEMBERED = 16
"""Number of recent messages in the cache: every fact and rival of a verifier reads the same
message."""
_LONGEST = 400
"""Maximal characters of a wording."""


@lru_cache(_REMEMBERED)
def normalise(text: str) -> str:
    """Removes compatibility forms, invisible characters, letter case and typographic variants. The
    length of the text may change."""
    return unicodedata.normalize("NFKC", text.translate(_LOOKS)).translate(_INVISIBLE).casefold()


def find_words(text: str, wording: str) -> list[Span]:
    """Spans of a wording in a normalised text: whole words in order, with no other word between
    them."""
    words = _split_known(wording[:_LONGEST])
    if not words or words[0] not in text:
        return []
    pattern = _compile(wording[:_LONGEST])
    return [match.span() for match in pattern.finditer(text)] if pattern else []


def count_letters(wording: str) -> int:
    """Number of letters and digits of a wording. A wording without any says nothing."""
    return sum(map(len, split_words(wording)))


def split_words(wording: str) -> list[str]:
    """Words of a wording. A number with its separators is one word."""
    return _WORD.findall(normalise(wording))


def is_denied(text: str, span: Span) -> bool:
    """Whether the words directly before a mention deny it: `not 12`, `isn't on the 14th`."""
    return _NEGATED.search(text[max(0, span[0] - _REACH) : span[0]]) is not None


def blank(text: str, spans: Sequence[Span]) -> str:
    """The text with line breaks in place of the spans, so that positions stay the same."""
    for start, end in spans:
        text = text[:start] + "\n" * (end - start) + text[end:]
    return text


@lru_cache(4096)
def _split_known(wording: str) -> tuple[str, ...]:
    return tuple(split_words(wording))


@lru_cache(1024)
def _compile(wording: str) -> re.Pattern[str] | None:
    words = _split_known(wording)
    if not words:
        return None
    # A digit must not touch another number: "5" is not said by "1.5".
    before = r"(?<!\d[.,])" if words[0][0].isdigit() else ""
    after = r"(?![.,]\d)" if words[-1][-1].isdigit() else ""
    return re.compile(
        before + r"(?<![^\W_])" + r"[\W_]+".join(map(re.escape, words)) + r"(?![^\W_])" + after
    )
