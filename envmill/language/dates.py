"""Dates in a message, in the spellings people use.

2026-03-14   14 March 2026   March 14th   14.03.2026   03/14/2026
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import lru_cache

from envmill.language.words import Span, normalise
from schemas.base import Json

_MONTHS = (
    "january",
    "february",
    "march",
    "april",
    "may",
    "june",
    "july",
    "august",
    "september",
    "october",
    "november",
    "december",
)
_NAMED = "|".join(f"{name}|{name[:3]}\\.?" for name in _MONTHS) + "|sept\\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?"
_EDGE, _END = r"(?<![^\W_])(?<![\d][.,/:-])", r"(?![^\W_]|[.,/:-]\d)"
_TIME = r"(?:[t ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:z|[+-]\d{2}:?\d{2})?)?"
_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"{_EDGE}(?P<year>\d{{4}})[-/.](?P<month>\d{{1,2}})[-/.](?P<day>\d{{1,2}}){_TIME}{_END}",
        rf"{_EDGE}{_DAY}(?:\s+of)?\s+(?P<named>{_NAMED}){_YEAR}{_END}",
        rf"{_EDGE}(?P<named>{_NAMED})\s+(?:the\s+)?{_DAY}{_YEAR}{_END}",
        rf"{_EDGE}(?P<day>\d{{1,2}})\.(?P<month>\d{{1,2}})\.(?P<year>\d{{4}}){_END}",
        rf"{_EDGE}(?P<first>\d{{1,2}})/(?P<second>\d{{1,2}})/(?P<year>\d{{4}}){_END}",
    )
)


_BEFORE = re.compile(
    r"(?<![\w.,:/-])(?:\d{1,2}(?:st|nd|rd|th)?(?:,? and |, |,? to | ?[–&] ?)(?:the |(?:mon|tues|"
    r"wednes|thurs|fri|satur|sun)day,? )*)+$"
)
"""Days before a date that share its month: "17, 19 and 21 March"."""


@dataclass(frozen=True)
class Day:
    """A date in a text; the year may be missing."""

    year: int | None
    month: int
    day: int
    span: Span


@lru_cache(16)
def find_dates(text: str) -> tuple[Day, ...]:
    """All dates of a normalised text, in order, without overlaps."""
    found: list[Day] = []
    for day in sorted(_list_dates(text), key=lambda one: (one.span[0], -one.span[1])):
        if not found or day.span[0] >= found[-1].span[1]:
            found.append(day)
    return tuple(found)


@lru_cache(16)
def find_told_dates(text: str) -> tuple[Day, ...]:
    """The dates of `find_dates`, and days that share the month of the date after them. Such a day
    may also be a plain number: "2, and 3 March will do"."""
    found = find_dates(text)
    shared = [
        Day(day.year, day.month, number, span)
        for day in found
        for number, span in _list_before(text, day)
    ]
    return tuple(sorted((*found, *shared), key=lambda one: one.span))


def _list_before(text: str, day: Day) -> Iterator[tuple[int, Span]]:
    """Days listed before a date that begins with its own day, such as 21 March."""
    if not text[day.span[0]].isdigit() or (listed := _BEFORE.search(text[: day.span[0]])) is None:
        return
    for match in re.finditer(r"\d{1,2}", listed[0]):
        if _exists(day.year, day.month, int(match[0])):
            yield int(match[0]), (listed.start() + match.start(), listed.start() + match.end())


def read_date(value: Json) -> date | None:
    """The date that a value states; None if it does not state exactly one date with its year."""
    found = find_dates(normalise(value)) if isinstance(value, str) else ()
    return (
        date(found[0].year, found[0].month, found[0].day)
        if len(found) == 1 and found[0].year
        else None
    )


def is_same_date(said: Day, wanted: date) -> bool:
    """Whether a date in a text is the wanted one. A missing year matches every year."""
    return (said.month, said.day) == (wanted.month, wanted.day) and said.year in (None, wanted.year)


def _list_dates(text: str) -> Iterator[Day]:
    for form in _FORMS:
        for match in form.finditer(text):
            said = match.groupdict()
            year = int(said["year"]) if said["year"] else None
            month, day = _read_month_and_day(said)
            if _exists(year, month, day):
                yield Day(year, month, day, match.span())


def _read_month_and_day(said: dict[str, str | None]) -> tuple[int, int]:
    """With slashes the month comes first, unless there is no such month."""
    if (first := said.get("first")) is not None:
        one, other = int(first), int(said["second"] or 0)
        return (one, other) if one <= len(_MONTHS) else (other, one)
    if (named := said.get("named")) is not None:
        return next(
            place for place, name in enumerate(_MONTHS, start=1) if name.startswith(named[:3])
        ), int(said["day"] or 0)
    return int(said["month"] or 0), int(said["day"] or 0)


def _exists(year: int | None, month: int, day: int) -> bool:
    try:
        date(year or 2000, month, day)
    except ValueError:
        return False
    return True
