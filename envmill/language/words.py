"""Words in a message: one spelling for comparing, mentions with their place, and mentions that are
taken back.

message ──normalise──► plain text ──find_words──► spans ──is_denied──► said, or denied
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache
from typing import TypeAlias

Span: TypeAlias = tuple[int, int]
"""From where to where in a normalised text."""

_INVISIBLE: dict[int, None] = dict.fromkeys((0xAD, 0x200B, 0x200C, 0x200D, 0x2060, 0xFEFF))
_LOOKS = str.maketrans({"\u2019": "'", "\u2018": "'", "\u2212": "-", "\u2010": "-", "\u2011": "-"})
_WORD = re.compile(r"[^\W_]+(?:(?<=\d)[.,](?=\d)[^\W_]+)*")
# Directly before what it denies: a negator farther off may deny something else, and no pattern
# knows which.
_NEGATED = re.compile(
    r"(?:\b(?:not|never|cannot|without|neither|nor|no)|n't)(?:\s+(?:on|at|the|a|an|for|to|by|in|"
    r"be|from|of|is|it))*\s+[$€£*_\"'(]*$"
)
_REACH = 48
"""Characters before a mention in which a negator is looked for."""
_REMEMBERED = 16
"""Messages of late: every fact and rival of a verifier looks at the same one."""
_LONGEST = 400
"""Characters of a wording."""


@lru_cache(_REMEMBERED)
def normalise(text: str) -> str:
    """Compatibility forms, invisible characters, letter case and typographic variants taken out;
    lengths may change."""
    return unicodedata.normalize("NFKC", text.translate(_LOOKS)).translate(_INVISIBLE).casefold()


def find_words(text: str, wording: str) -> list[Span]:
    """Where a wording stands in a normalised text: whole words in order, whatever stands between
    them but words."""
    words = _split_known(wording[:_LONGEST])
    if not words or words[0] not in text:
        return []
    pattern = _compile(wording[:_LONGEST])
    return [match.span() for match in pattern.finditer(text)] if pattern else []


def count_letters(wording: str) -> int:
    """Letters and digits of a wording: one with none says nothing."""
    return sum(map(len, split_words(wording)))


def split_words(wording: str) -> list[str]:
    """Words of a wording, a number with its separators one of them."""
    return _WORD.findall(normalise(wording))


def is_denied(text: str, span: Span) -> bool:
    """Whether the words directly before take it back: `not 12`, `isn't on the 14th`."""
    return _NEGATED.search(text[max(0, span[0] - _REACH) : span[0]]) is not None


def blank(text: str, spans: Sequence[Span]) -> str:
    """The text without what stands in the spans, places kept."""
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
