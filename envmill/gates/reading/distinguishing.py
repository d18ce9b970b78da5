"""Whether a request's words distinguish two rows where a comparison of values does not.

`the lowest mileage` ─► which has the least     `not locked` ─► which is locked     `the printer that skips lines` ─► whose text has it
"""

import re
from collections.abc import Mapping, Sequence
from itertools import chain

from envmill.gates.reading.known_values import read_day
from envmill.gates.reading.question import EMPTY, OPERATIONS, cut_name, stem
from envmill.language.words import find_words, is_denied, normalise, split_words
from schemas.base import Json

Row = Mapping[str, Json]
"""Field → plain value."""

_MOST = ("highest", "last")
_LEAST = ("lowest", "first")
_FURTHER: Mapping[str, str] = {
    "highest": r"|fastest|heaviest|nicest|strongest|furthest|fullest|busiest|bigger|larger|higher|older|"
    r"longer|dearer",
    "lowest": r"|nearest|closest|emptiest|slowest|lightest|quietest|smaller|lower|shorter|cheaper|"
    r"fewer|youngest|younger",
    "first": r"|older|oldest",
    "last": r"|newer",
}
_YES, _NO = frozenset(["1", "true", "yes"]), frozenset(["0", "false", "no"])
_SHORTEST = 3
"""Length of the shortest word that counts."""


def distinguish(target: Row, rival: Row, fitting: Sequence[Row], text: str) -> bool:
    """Whether a normalised text means the target and not the rival. `fitting` are all rows that the
    text fits."""
    if any(is_excluded(name, target.get(name), value, text) for name, value in rival.items()):
        return True
    left = [
        row
        for row in fitting
        if not any(is_excluded(name, target.get(name), value, text) for name, value in row.items())
    ]
    return is_extreme(target, left, text) or has_own_word(target, rival, text)


def is_excluded(name: str, ours: Json, theirs: Json, text: str) -> bool:
    """Whether words such as `not locked` exclude the other row, or `locked` one that is not."""
    if ours == theirs or str(ours) == str(theirs):
        return False
    if {str(ours).casefold(), str(theirs).casefold()} <= _YES | _NO:
        states = [
            is_denied(text, span) or _is_turned(text, span)
            for word in cut_name(name)
            for span in find_words(text, word)
        ]
        return bool(states) and all(denied is (str(ours).casefold() in _NO) for denied in states)
    return isinstance(theirs, str) and is_only_denied(theirs, text)


def is_only_denied(value: str, text: str) -> bool:
    """Whether the text mentions the value, but only to exclude it."""
    spans = find_words(text, value)
    return bool(spans) and all(is_denied(text, span) or _is_turned(text, span) for span in spans)


def _is_turned(text: str, span: tuple[int, int]) -> bool:
    return (
        re.search(
            r"\b(?:rather than|instead of|other than|except(?: for)?|but not|apart from)(?: the| "
            r"a| an)?\s+$",
            text[: span[0]],
        )
        is not None
    )


def is_extreme(target: Row, others: Sequence[Row], text: str) -> bool:
    """Whether the text asks for the most or the least of something, which only the target among
    these rows has."""
    fields = [name for name, value in target.items() if _is_measure(value)]
    # If the text names a field, only that field counts: the lowest mileage is not the lowest price.
    named = [name for name in fields if any(find_words(text, word) for word in cut_name(name))]
    for name in named or fields:
        ours, theirs = target[name], [row.get(name) for row in others]
        comparable = [
            value
            for value in theirs
            if type(value) is type(ours) or (_is_number(value) and _is_number(ours))
        ]
        if not comparable or len(comparable) < len(theirs):
            continue
        if (_asks(_MOST, text) and all(ours > value for value in comparable)) or (
            _asks(_LEAST, text) and all(ours < value for value in comparable)
        ):
            return True
    return False


def _asks(operations: Sequence[str], text: str) -> bool:
    words = "|".join(chain.from_iterable((OPERATIONS[one] + _FURTHER[one],) for one in operations))
    return re.search(rf"\b(?:{words})\b", text) is not None


def has_own_word(target: Row, rival: Row, text: str) -> bool:
    """Whether the text contains a word that only the target's longer text has, and none that only
    the rival's has."""
    said = {stem(word) for word in split_words(text)}
    for name, ours in target.items():
        theirs = rival.get(name)
        if (
            isinstance(ours, str)
            and isinstance(theirs, str)
            and " " in ours.strip()
            and ours != theirs
        ):
            mine, other = _list_stems(ours), _list_stems(theirs)
            # The text must also contain a word of both, or the first one may refer to something
            # else.
            if said & (mine - other) and said & mine & other and not said & (other - mine):
                return True
    return False


def _list_stems(text: str) -> set[str]:
    return {
        stem(word)
        for word in split_words(normalise(text))
        if len(word) >= _SHORTEST and word not in EMPTY
    }


def _is_measure(value: Json) -> bool:
    return _is_number(value) or bool(read_day(value))


def _is_number(value: Json) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
