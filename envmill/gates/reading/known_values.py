"""The words, numbers and dates that a reader of texts and replies knows, in any spelling.

request, facts, policy ─┐
replies so far         ─┴─► KnownValues ─► do they contain this value?
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal, InvalidOperation

from envmill.language.dates import Day, find_dates
from envmill.language.numbers import Number, find_numbers
from envmill.language.words import find_words, normalise
from schemas.base import Json, is_array, is_object
from schemas.scenario import Scenario

_LIST_ITEM = re.compile(r"(?m)^\s*(?:\(?(?:\d+|[a-z])[.)]|[-–—*•·])\s")
_DASH = re.compile(r"(?<=\S)\s+[-–—]\s+(?=[$€£]?\s?\d)")
"""A dash between words, not the sign of a number."""
COUNTED = re.compile(
    r"(?i)\b(two|three|four|five|six|\d) (?:other |more )?(?:things|wishes|requests|tasks|changes|"
    r"matters|items to do)\b"
)
"""A count of wishes, which is no amount."""
_ISO_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?:[T ]\d{2}:\d{2}.*)?")
_MOST_TEXT = 20_000
"""Characters of one reply that are read as text."""


def strip_numbering(text: str) -> str:
    """The normalised text without list markers, dashes before numbers, and counts of wishes."""
    return normalise(COUNTED.sub("things", _DASH.sub(", ", _LIST_ITEM.sub("\n", text))))


def read_numbers(text: str) -> Sequence[Number]:
    """Every number of a text, except those that number an item."""
    return find_numbers(strip_numbering(text))


def read_dates(text: str) -> Sequence[Day]:
    return find_dates(normalise(text))


def holds_words(normal: str, value: Json) -> bool:
    """Whether a normalised text contains the value's words in a row."""
    return bool(find_words(normal, str(value)))


def list_leaves(value: Json) -> Iterator[Json]:
    """Plain values anywhere inside, without names of fields."""
    if is_object(value):
        for one in value.values():
            yield from list_leaves(one)
    elif is_array(value):
        for one in value:
            yield from list_leaves(one)
    elif value is not None:
        yield value


def read_part(part: Json) -> Json:
    return part.get("value") if part.get("type") == "json" else part.get("text", "")


def read_day(value: Json) -> str:
    """ISO date of a value that is a date, with or without a time; otherwise empty."""
    found = _ISO_DAY.fullmatch(value) if isinstance(value, str) else None
    try:
        return date.fromisoformat(found[1]).isoformat() if found else ""
    except ValueError:
        return ""


def list_told(scenario: Scenario) -> list[str]:
    """What the user says: the request, and the facts that the agent can ask for."""
    return [scenario.request, *(str(leaf) for leaf in list_leaves(scenario.user.facts))]


@dataclass
class KnownValues:
    """Values that were read so far."""

    year: int
    """Year of dates without one."""
    normal: str = ""
    """All texts, normalised."""
    plain: str = ""
    """All texts as they were."""
    numbers: set[Decimal] = field(default_factory=set[Decimal])
    dates: set[str] = field(default_factory=set[str])
    values: set[str] = field(default_factory=set[str])
    """Plain values of replies, casefolded."""
    _found: dict[str, bool] = field(default_factory=dict[str, bool], repr=False, compare=False)
    """Wording → whether the texts contain it. Gates look for the same few values once for each
    change."""
    _found_in: str = field(default="", repr=False, compare=False)

    @classmethod
    def of(cls, texts: Iterable[str], year: int) -> "KnownValues":
        knowledge = cls(year)
        for text in texts:
            knowledge.read(text)
        return knowledge

    def read(self, text: str) -> None:
        """Add the words of a text."""
        self.plain += f"{text}\n"
        self.normal += f"{normalise(text)}\n"
        self.numbers |= {one.value for one in read_numbers(text)}
        self.dates |= {_render_day(one, self.year) for one in read_dates(text)}

    def take(self, reply: Json) -> None:
        """Add the plain values of a reply."""
        for leaf in list_leaves(reply):
            if isinstance(leaf, bool):
                continue
            if isinstance(leaf, int | float):
                self.numbers.add(Decimal(str(leaf)))
                continue
            self.values.add(str(leaf).casefold())
            if day := read_day(leaf):
                self.dates.add(day)
            elif " " in leaf:
                self.read(leaf[:_MOST_TEXT])

    def holds(self, value: Json) -> bool:
        """Whether the value was said, in any spelling."""
        number = read_plain_number(value)
        if number is not None and number in self.numbers:
            return True
        if isinstance(value, int | float):
            return False
        if day := read_day(value):
            return day in self.dates
        if str(value) in ("A", "I") and not re.search(rf"(?<!\w){value}(?!\w)", self.plain):
            # Every text contains the word `a`, which is then no name.
            return str(value).casefold() in self.values
        return str(value).casefold() in self.values or self._holds_words(str(value))

    def _holds_words(self, wording: str) -> bool:
        if self._found_in is not self.normal:
            self._found, self._found_in = {}, self.normal
        if wording not in self._found:
            self._found[wording] = holds_words(self.normal, wording)
        return self._found[wording]


def read_plain_number(value: Json | Decimal) -> Decimal | None:
    """The value as a number, if it is a number or a text that consists of one."""
    if isinstance(value, bool):
        return None
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _render_day(day: Day, year: int) -> str:
    return f"{day.year or year:04d}-{day.month:02d}-{day.day:02d}"
