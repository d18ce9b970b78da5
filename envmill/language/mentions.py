"""Whether a text states a value."""

import re
from datetime import date

from envmill.language.dates import find_dates, is_same_date, read_date
from envmill.language.numbers import find_numbers, is_same_number, read_number
from envmill.language.words import find_words, normalise
from schemas.base import Json

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_WORD = re.compile(r"\d+(?:[:.,]\d+)*|[^\W_]{3,}")
"""A number, or a word of three letters or more: shorter words carry little meaning. A short number
counts, because only the number distinguishes 45 litres from 120. The 14 of "14:00" is no 14."""
_CODE = re.compile(r"[^\W\d_]{1,2}-?\d[\w-]*")
"""A code that begins with one or two letters must be stated whole: the 1 of "1 March" is no
SL-1."""
_APART = 4
"""Maximal number of other words among the words of a value. Words from two parts of a sentence do
not state a value."""


def is_told(value: Json, text: str) -> bool:
    """Whether a text states a value. A number or a date may have any spelling. For any other value,
    the text must contain every word that carries meaning."""
    plain = normalise(text)
    if (day := _read_day(value)) is not None:
        return any(is_same_date(said, day) for said in find_dates(plain))
    if isinstance(value, int | float) and (number := read_number(value)) is not None:
        return any(is_same_number(said, number) for said in find_numbers(plain))
    if _CODE.fullmatch(normalise(str(value))):
        return bool(find_words(plain, str(value)))
    words = _WORD.findall(normalise(str(value)))
    return bool(words) and _stand_together(set(words), _WORD.findall(plain))


def _stand_together(words: set[str], text: list[str]) -> bool:
    """Whether all of the words stand in the text, in any order, close to each other."""
    width = len(words) + _APART
    return any(
        words <= set(text[start : start + width])
        for start, word in enumerate(text)
        if word in words
    )


def is_exact(value: Json) -> bool:
    return isinstance(value, int | float) or _read_day(value) is not None


def _read_day(value: Json) -> date | None:
    return read_date(value) if isinstance(value, str) and _DAY.fullmatch(value) else None
