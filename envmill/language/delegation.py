"""Finds openings that leave a hidden choice to the agent. An agent that reads "any of them will do"
has no reason to ask which one the user means."""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from envmill.language.mentions import is_told
from envmill.language.words import find_words, normalise
from schemas.base import Json

_HANDED_OVER = re.compile(
    r"\b(?:you (?:may |can |should )?(?:choose|decide|pick|select)|(?:your|the) choice(?: is "
    r"yours)?|up to you|"
    r"whichever (?:you|one you|suits)|whatever you (?:like|think|prefer)|any (?:one )?(?:of them |"
    r"of these )?(?:will|would) do|"
    r"(?:does not|doesn't) matter (?:to me )?which|(?:do not|don't) (?:mind|care) which|as you "
    r"(?:like|please|see fit))\b"
)
_ANY = re.compile(r"\b(?:one of (?!our\b|my\b)|another\b|any\b|some other\b|either\b)")
"""`One of our shops rang` means a certain shop; `one of the ovens` may mean any oven."""
_TOKEN = re.compile(r"\S+")
_AROUND, _MOST = 2, 10
"""Words quoted on each side of a replaced span, and the maximal number of words that may replace a
value."""


def find_handed_over(request: str, opening: str) -> str:
    """The words with which an opening leaves a choice to the agent; empty if there are none. Words
    that the request contains, too, do not count."""
    known = normalise(request)
    return next(
        (one[0] for one in _HANDED_OVER.finditer(normalise(opening)) if one[0] not in known), ""
    )


def list_delegations(
    request: str, opening: str, hidden: dict[str, Json]
) -> Iterator[tuple[str, str]]:
    """(fact, words) for each hidden fact whose value the opening replaces by words that may leave
    the choice to the agent."""
    asked, opened = _TOKEN.findall(request), _TOKEN.findall(opening)
    for (start, end), (first, last) in _list_changed(asked, opened):
        if last - first > _MOST or not _ANY.search(normalise(" ".join(opened[first:last]))):
            continue
        said, put = (
            " ".join(asked[start:end]),
            " ".join(opened[max(0, first - _AROUND) : last + _AROUND]),
        )
        yield from (
            (name, put)
            for name, value in hidden.items()
            if is_told(value, said) or find_words(normalise(said), str(value))
        )


def _list_changed(
    asked: list[str], opened: list[str]
) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Spans in which the two texts differ. Spans at most two words apart are merged: `the Bison`
    became `one of the others`."""
    spans = list[tuple[tuple[int, int], tuple[int, int]]]()
    for op, start, end, first, last in SequenceMatcher(
        None, asked, opened, autojunk=False
    ).get_opcodes():
        if op == "equal":
            continue
        if spans and start - spans[-1][0][1] <= _AROUND:
            spans[-1] = ((spans[-1][0][0], end), (spans[-1][1][0], last))
        else:
            spans.append(((start, end), (first, last)))
    return spans
