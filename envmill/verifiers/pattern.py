"""A pattern: a JSON value in which the parts that depend on chance are holes.

    {"$any": "string"}    any value of that JSON type
    {"$row": 2}           the key of the row that goal 2 found; a number is compared as text
    {"$exempt": true}     anything, or no value
    {"$text": "Saw"}      the same text, but for letter case, white space and ways of writing one character
    {"$near": [9.5, 0.1]} a number at most this far away
    {"$words": ["a", "b"]} one of these texts, but for what `$text` ignores and for punctuation and
    quotes around it
    {"$filled": true}     a text with at least one letter or digit

A hole is an object with one reserved key. A state that uses such a key has no pattern.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Literal

from envmill.base.errors import BuildError
from envmill.language.words import count_letters, normalise
from envmill.verifiers.diff import same
from schemas.base import Json, is_array, is_object

ANY, ROW, EXEMPT, TEXT, NEAR, WORDS, FILLED = (
    "$any",
    "$row",
    "$exempt",
    "$text",
    "$near",
    "$words",
    "$filled",
)
Hole = Literal["$any", "$row", "$exempt", "$text", "$near", "$words", "$filled"]
HOLES: tuple[Hole, ...] = (ANY, ROW, EXEMPT, TEXT, NEAR, WORDS, FILLED)
_AROUND = " \t.,;:!?'\"`()[]-" + "\u201c\u201d\u00ab\u00bb\u201e\u2026\u2013\u2014"
"""Punctuation and quotes that are ignored at both ends of a text."""

Keys = Mapping[int, str]
"""Number of a goal → key of the row that the goal found."""


def make_pattern(value: Json, twin: Json, rows: Mapping[tuple[str, str], int]) -> Json:
    """The pattern that the values of two runs agree on. `rows` contains the pairs of generated keys
    that name the same new row."""
    if is_object(value) and any(hole in value for hole in HOLES):
        raise BuildError(
            f"The state holds an object with the key {' or '.join(HOLES)}, which checks reserve. "
            "Use another key."
        )
    if isinstance(value, str) and isinstance(twin, str) and (value, twin) in rows:
        return {ROW: rows[value, twin]}
    if is_object(value) and is_object(twin) and value.keys() == twin.keys():
        return {key: make_pattern(value[key], twin[key], rows) for key in value}
    if is_array(value) and is_array(twin) and len(value) == len(twin):
        return [make_pattern(one, other, rows) for one, other in zip(value, twin, strict=True)]
    return value if same(value, twin) else {ANY: name_type(value)}


def fits(value: Json, pattern: Json, keys: Keys) -> bool:
    """Whether a value matches the pattern. A row that is not found yet may have any key."""
    if hole := _find_hole(pattern):
        return _fills(value, hole, pattern[hole], keys)
    if is_object(pattern) and is_object(value):
        missing = [key for key in pattern if key not in value]
        if any(_find_hole(pattern[key]) != EXEMPT for key in missing) or any(
            key not in pattern for key in value
        ):
            return False
        return all(fits(value[key], pattern[key], keys) for key in value)
    if is_array(pattern) and is_array(value):
        return len(pattern) == len(value) and all(
            fits(one, other, keys) for one, other in zip(value, pattern, strict=True)
        )
    return same(value, pattern)


def _fills(value: Json, hole: Hole, asked: Json, keys: Keys) -> bool:
    """Whether a value fills a hole. No value fills a malformed hole: the reference path then fails,
    and its verdict names the goal."""
    if hole == ANY:
        return name_type(value) == asked
    if hole == ROW:
        return (
            isinstance(value, str | int)
            and not isinstance(value, bool)
            and keys.get(asked, str(value)) == str(value)
        )
    if hole == TEXT:
        return isinstance(value, str) and isinstance(asked, str) and is_same_text(value, asked)
    if hole == NEAR:
        return is_array(asked) and len(asked) == 2 and is_near(value, *asked)
    if hole == WORDS:
        return (
            isinstance(value, str)
            and is_array(asked)
            and settle_words(value) in [settle_words(str(one)) for one in asked]
        )
    if hole == FILLED:
        return isinstance(value, str) and count_letters(value) > 0
    return True


def is_same_text(one: str, other: str) -> bool:
    """Whether two texts are equal. Letter case, white space and compatibility forms are ignored."""
    return normalise(one).split() == normalise(other).split()


def settle_words(text: str) -> str:
    """The form in which texts are compared: as in `is_same_text`, without the punctuation and
    quotes around them."""
    return " ".join(normalise(text).split()).strip(_AROUND)


def is_near(value: Json, wanted: Json, by: Json) -> bool:
    """Whether a number is close enough to the wanted one. Both are compared as decimals: as binary
    fractions, 1.1 is farther from 1.0 than 0.1."""
    if any(name_type(one) != "number" for one in (value, wanted, by)):
        return False
    return abs(Decimal(str(value)) - Decimal(str(wanted))) <= Decimal(str(by))


def is_specific(pattern: Json) -> bool:
    """Whether any part of the pattern does not depend on chance."""
    if hole := _find_hole(pattern):
        return hole in (TEXT, NEAR, WORDS, FILLED)
    parts = list(pattern.values()) if is_object(pattern) else pattern if is_array(pattern) else None
    return True if not parts else any(is_specific(part) for part in parts)


def is_chance(pattern: Json) -> bool:
    """Whether the whole value depends on chance."""
    return _find_hole(pattern) in (ANY, EXEMPT, FILLED)


def name_type(value: Json) -> str:
    """The JSON name of a value's type."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, (int, float)):
        return "number"
    return "string" if isinstance(value, str) else "array" if is_array(value) else "object"


def names_row(pattern: Json) -> bool:
    """Whether the pattern asks for the key of a row that another goal finds."""
    return _find_hole(pattern) == ROW


def list_named_rows(pattern: Json) -> Iterator[int]:
    """Goals whose rows a pattern asks for, at any depth."""
    if _find_hole(pattern):
        if isinstance(number := pattern.get(ROW), int):
            yield number
    elif is_object(pattern) or is_array(pattern):
        for part in pattern.values() if is_object(pattern) else pattern:
            yield from list_named_rows(part)


def _find_hole(pattern: Json) -> Hole | None:
    if is_object(pattern) and len(pattern) == 1:
        return next((hole for hole in HOLES if hole in pattern), None)
    return None
