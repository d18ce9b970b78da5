"""Numbers in a message, in the spellings people use; never a part of another number, a date, a time
or a code.

1,200.50   1200.5   $1 200.50   1.200,50   -3   12 %   twelve   twenty-three   two hundred and five
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal, InvalidOperation
from functools import lru_cache

from envmill.language.dates import find_dates
from envmill.language.words import Span, blank, normalise
from schemas.base import Json

_SMALL = (
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORDS = {name: value for value, name in enumerate(_SMALL)} | {
    name: 10 * (place + 2) for place, name in enumerate(_TENS)
}
_BELOW_HUNDRED = (
    rf"(?:(?:{'|'.join(_TENS)})(?:[- ](?:{'|'.join(_SMALL[1:10])})\b)?|"
    rf"(?:{'|'.join(reversed(_SMALL))}))"
)
_UNITS = "kg|km|cm|mm|kwh|ml|min|eur|usd|gbp|chf|g|l|h"
# At most six groups: a longer row of digits is no number, and the search would try it from every
# position.
_GROUPED = (
    r"\d{1,3}(?:,\d{3}){1,6}(?:\.\d+)?|\d{1,3}(?: \d{3}){1,6}(?:[.,]\d+)?(?!\d)|"
    r"\d{1,3}(?:'\d{3}){1,6}(?:\.\d+)?|\d{1,3}(?:\.\d{3}){1,6},\d+|\d{1,3}(?:\.\d{3}){2,6}"
)
_PLAIN = r"\d+(?:[.,]\d+)?"
# Times, versions, fractions, ranges, telephone numbers: digits with characters between them that no
# number contains.
_JOINED = re.compile(r"(?<!\d)(?:\d+(?:[:/–-]\d+)+|\d+(?:\.\d+){2,}(?![\d,]))")
_NUMBER = re.compile(
    rf"(?<![^\W_])(?<![^\W_][-/:.,'])(?:(?P<sign>-)\s?)?(?:[$€£]\s?)?(?P<minus>-)?(?P<digits>{_GROUPED}|"
    rf"{_PLAIN})"
    rf"(?:(?P<percent>\s?(?:%|percent\b|per cent\b))|\s?(?:{_UNITS})\b)?(?![^\W_]|[/:.,'][^\W_]|"
    rf"-(?![a-z]{{3}})[^\W_])"
)
_HUNDREDS = rf"(?P<hundreds>{_BELOW_HUNDRED}) hundred\b(?: (?:and )?(?P<rest>{_BELOW_HUNDRED}))?"
# Atomic: no part of "forty two thousand" is a number of its own.
_NO_PART = r"(?<![^\W_])(?<![^\W_]-)(?<!thousand )(?<!thousand and )"
_SPELLED = re.compile(
    rf"{_NO_PART}(?>{_HUNDREDS}|(?P<alone>{_BELOW_HUNDRED}))(?![^\W_]|-[^\W_]| (?:hundred|"
    r"thousand|million)s?\b)"
)
# The pronoun "one" is no number.
_PRONOUN_BEFORE = re.compile(
    r"\b(?:no|any|every|some|which|this|that|the|another|each|last|next|first|right|wrong|only)\s+$"
)
_PRONOUN_AFTER = re.compile(
    r"^\s+(?:of|another|can|cannot|could|should|would|may|must|has|is|was)\b"
)


@dataclass(frozen=True)
class Number:
    """A number in a text."""

    value: Decimal
    span: Span
    percent: bool = False

    @property
    def places(self) -> int:
        """Number of decimal places in the text."""
        exponent = self.value.as_tuple().exponent
        return max(0, -exponent) if isinstance(exponent, int) else 0


@lru_cache(16)
def find_numbers(text: str) -> tuple[Number, ...]:
    """All numbers of a normalised text, in order."""
    text = blank(text, [date.span for date in find_dates(text)])
    joined = [match.span() for match in _JOINED.finditer(text) if not _is_grouped(match[0])]
    text = _mask(text, joined)
    return tuple(sorted((*_find_digits(text), *_find_spelled(text)), key=lambda one: one.span))


def read_number(value: Json) -> Decimal | None:
    """The number that a value states; None if it does not state exactly one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return Decimal(str(value))
    found = find_numbers(normalise(value)) if isinstance(value, str) else ()
    return found[0].value if len(found) == 1 else None


def is_same_number(said: Number, wanted: Decimal) -> bool:
    """Whether a number in a text is the wanted one: equal, or the wanted share in percent. A number
    with two or more decimals may also be the wanted number rounded to them."""
    readings = [said.value, said.value / 100] if said.percent else [said.value]
    return wanted in readings or (said.places >= 2 and _is_rounded(said, wanted))


def _is_rounded(said: Number, wanted: Decimal) -> bool:
    unit = Decimal(1).scaleb(-said.places)
    try:
        return said.value in (
            wanted.quantize(unit, ROUND_HALF_UP),
            wanted.quantize(unit, ROUND_HALF_EVEN),
        )
    except InvalidOperation:
        return False


def _find_digits(text: str) -> Iterator[Number]:
    for match in _NUMBER.finditer(text):
        negative = match["minus"] or (
            match["sign"] and not text[: match.start()].rstrip(" ").endswith(tuple("0123456789"))
        )
        value = _read(match["digits"])
        yield Number(-value if negative else value, match.span(), match["percent"] is not None)


def _find_spelled(text: str) -> Iterator[Number]:
    for match in _SPELLED.finditer(text):
        before, after = (
            text[max(0, match.start() - 24) : match.start()],
            text[match.end() : match.end() + 12],
        )
        if match[0] != "one" or not (
            _PRONOUN_BEFORE.search(before) or _PRONOUN_AFTER.search(after)
        ):
            yield Number(
                Decimal(
                    _sum_words(match["hundreds"]) * 100
                    + _sum_words(match["rest"])
                    + _sum_words(match["alone"])
                ),
                match.span(),
            )


def _sum_words(words: str | None) -> int:
    """The number of a few words below a hundred; 0 for none."""
    return sum(_WORDS[word] for word in re.split(r"[- ]", words)) if words else 0


def _read(digits: str) -> Decimal:
    """The value of digits with separators. If points and commas occur, the last mark is the decimal
    one. A single point is the decimal mark; a comma is, unless three digits follow."""
    bare = digits.replace(" ", "").replace("'", "")
    point, comma = bare.rfind("."), bare.rfind(",")
    if point >= 0 and comma >= 0:
        thousands, decimal = (",", ".") if point > comma else (".", ",")
        return Decimal(bare.replace(thousands, "").replace(decimal, "."))
    if comma >= 0:
        grouped = re.fullmatch(r"\d{1,3}(?:,\d{3})+", digits) is not None
        return Decimal(bare.replace(",", "" if grouped else "."))
    return Decimal(bare.replace(".", "") if bare.count(".") > 1 else bare)


def _is_grouped(joined: str) -> bool:
    return re.fullmatch(r"\d{1,3}(?:\.\d{3}){2,}", joined) is not None


def _mask(text: str, spans: list[Span]) -> str:
    """The text with each character of the spans replaced by a letter. Digits next to a span then
    belong to a word and are no number."""
    for start, end in spans:
        text = text[:start] + "x" * (end - start) + text[end:]
    return text
