"""Facts: whether a message tells the user a required value. Texts, numbers and dates are parsed as
people write them; RE2 runs patterns.

messages ──► mentions of the fact ──► one is not denied, and no rival is stated ──► communicated
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache
from typing import TypeAlias

from envmill.base.errors import BuildError
from envmill.language import regex
from envmill.language.dates import find_told_dates, is_same_date, read_date
from envmill.language.numbers import find_numbers, is_same_number, read_number
from envmill.language.told import render_leaf
from envmill.language.words import Span, blank, count_letters, find_words, is_denied, normalise
from schemas.base import Json
from schemas.scenario import Fact

LONGEST = 4000
"""Maximal characters of a message. A longer message recites everything and communicates nothing."""
_LEAST_LETTERS = 2
_COPIED = re.compile(r"\{\s*['\"][^{}]*(?:\}|$)")
_FIELD = re.compile(r"['\"][\w -]{1,40}['\"]\s*:")
_LEAST_FIELDS, _FEW_FIELDS = 4, 2
"""Minimal number of fields of an object in a message that counts as a copied record. A smaller
object may be the requested form of the answer. For a pattern, the second number applies, because a
pattern describes words, and no request asks for words in an object."""
_KEY = re.compile(r"[A-Za-z]+[_-]\w*\d\w*")
_LEAST_RIVALS = 2
"""Minimal number of rivals of a text if a message may state one rival after it. With fewer rivals,
two guesses would cover all of them."""
_MANY_RIVALS = 3
"""Number of rival numbers among which a guess gains nothing. A report may state them before the
answer."""
_PROSE = re.compile(
    r"\b(?:is|are|was|were|has|have|had|be|been|there|none|i|you|it|they|she|he|we|comes?|makes?)\b"
)
_SENTENCE = re.compile(r"[.!?]\s|\n")
_HEDGE = re.compile(r"\b(?:or|maybe|perhaps|possibly|either|else|otherwise|instead)\b")
_LINK = re.compile(
    r"\W{0,2}(?: ?[^\W\d]+)?(?:(?P<choice>,? or (?:else |maybe |perhaps |rather |also )?)|, "
    r")(?:the |on |at |and )?(?:[$€£]\s?)?"
)
"""Text between the answers of a list: "238 litres, 250 or 226"."""
_CODE = re.compile(
    r"(?<![^\W_])(?:[^\W_]{1,12}[-:/.]){0,3}[^\W\d_]{0,6}\d[^\W_]{0,12}(?:[-:/.][^\W_]{1,12}){0,3}(?![^\W_])"
)
"""A code, a tag or an hour, in a normalised text."""
_NUMBERED = re.compile(r"(?m)^[ \t]*\d{1,2}[.)][ \t]")

Shortfall: TypeAlias = dict[str, Json] | None
"""What was found instead of the fact; None if the fact was communicated."""


def find_shortfall(fact: Fact, said: Sequence[str], beside: Sequence[Fact] = ()) -> Shortfall:
    """Why a fact was not communicated; None if it was. `beside` are the other facts that the agent
    must tell: a message that also states one of them does not hedge."""
    messages = said[-1:] if fact.where == "last" else said
    shortfalls = [_judge_message(fact, message, beside) for message in messages]
    if any(shortfall is None for shortfall in shortfalls):
        return None
    return shortfalls[-1] if shortfalls else {"found": "nothing was said"}


def communicates(fact: Fact, message: str) -> bool:
    """Whether one message communicates a fact."""
    return _judge_message(fact, message) is None


def is_given(fact: Fact, text: str) -> bool:
    """Whether a text that the agent is given already contains the fact. An agent that repeats such
    a fact has learned nothing."""
    if fact.kind == "pattern" and _matches(fact, text):
        return True
    plain = normalise(text)
    return bool(
        (fact.kind != "pattern" and _find(fact.kind, fact.value, plain)) or _find_also(fact, plain)
    )


def check_fact(fact: Fact) -> None:
    """Raises BuildError for a fact that cannot be judged, or that any message would communicate."""
    if fault := _find_fault(fact):
        raise BuildError(f"The fact {fact.name!r} cannot be judged: {fault}.")


def _find_fault(fact: Fact) -> str:
    if fact.weight <= 0:
        return "its weight must be positive"
    if fact.kind == "number" and read_number(fact.value) is None:
        return f"{fact.value!r} is not one number"
    if fact.kind == "date" and read_date(fact.value) is None:
        return f"{fact.value!r} is not one date with its year; write it as 2026-03-14"
    if fact.kind == "pattern":
        return regex.find_fault(fact.value)
    wordings = [*([render_leaf(fact.value)] if fact.kind == "text" else []), *fact.also]
    short = [wording for wording in wordings if count_letters(wording) < _LEAST_LETTERS]
    return f"{short[0]!r} is too short to be told from chance" if short else ""


def _judge_message(fact: Fact, message: str, beside: Sequence[Fact] = ()) -> Shortfall:
    if len(message) > LONGEST:
        return {
            "found": f"a message of {len(message)} characters, more than the {LONGEST} that are "
            "looked at"
        }
    told = _drop_records(message, _FEW_FIELDS if fact.kind == "pattern" else _LEAST_FIELDS)
    if not _is_mentioned(fact, told, _read(fact, told)):
        return {"found": message[:500]}
    text = _read(fact, message)
    if fact.kind != "pattern" and _is_hedged(fact, text, beside):
        return {"found": message[:500], "hedged": True}
    rival = _find_rival(fact, message, text) if fact.rivals else None
    return None if rival is None else {"found": message[:500], "rival": rival}


def _read(fact: Fact, message: str) -> str:
    return normalise(_drop_numbering(message) if fact.kind == "number" else message)


def _drop_records(message: str, least: int) -> str:
    """The message without copied records. A message that copies a whole record shows that the agent
    read it, but not which value answers the question."""
    return _COPIED.sub(
        lambda copied: " " if len(_FIELD.findall(copied[0])) >= least else copied[0], message
    )


def _drop_numbering(message: str) -> str:
    """The message without the numbers of its list items. A single line that begins with a number
    stays, because the number may be the answer."""
    return _NUMBERED.sub("", message) if len(_NUMBERED.findall(message)) > 1 else message


def _is_mentioned(fact: Fact, message: str, text: str) -> bool:
    if fact.kind == "pattern" and _matches(fact, message):
        return True
    spans = [] if fact.kind == "pattern" else _find(fact.kind, fact.value, text)
    return any(not is_denied(text, span) for span in (*spans, *_find_also(fact, text)))


def _matches(fact: Fact, message: str) -> bool:
    """Whether a pattern matches a message as it is, or with line breaks and repeated spaces
    replaced by single spaces."""
    return any(
        regex.is_found(str(fact.value), each)
        for each in dict.fromkeys((message, _join_lines(message)))
    )


def _join_lines(message: str) -> str:
    return " ".join(message.split())


def _is_hedged(fact: Fact, text: str, beside: Sequence[Fact]) -> bool:
    """Whether every mention is one of several alternatives: "238 or 250 litres". Alternatives in a
    question do not count, nor do values of other facts that the agent must tell."""
    told = [
        span
        for one in beside
        if one.kind != "pattern"
        for span in (*_find(one.kind, one.value, text), *_find_also(one, text))
    ]
    mentions = [
        span
        for span in (*_find(fact.kind, fact.value, text), *_find_also(fact, text))
        if not is_denied(text, span)
    ]
    return bool(mentions) and all(
        _has_alternative(fact, text, span, [*told, *mentions]) for span in mentions
    )


def _has_alternative(fact: Fact, text: str, span: Span, known: Sequence[Span]) -> bool:
    """Whether a mention stands in a list of answers joined by `or`. At least one of these answers
    must be neither the fact nor another fact that the agent must tell."""
    begin, end = next(place for place in _list_sentences(text) if place[0] <= span[0] < place[1])
    if text[begin:end].rstrip().endswith("?"):
        return False
    strange = [
        one
        for one in _list_alike(fact, text)
        if not any(one[0] < known_end and start < one[1] for start, known_end in known)
    ]
    row, is_row, is_choice = list[Span](), False, False
    for one in sorted({*strange, *known, span}):
        if not begin <= one[0] < end or (row and one[0] < row[-1][1] and one != span):
            continue
        link = _LINK.fullmatch(text, row[-1][1], one[0]) if row and row[-1][1] <= one[0] else None
        if link is None:
            if is_row and is_choice and any(each in strange for each in row):
                return True
            row, is_row, is_choice = [one], one == span, False
            continue
        row.append(one)
        is_row, is_choice = is_row or one == span, is_choice or link["choice"] is not None
    return is_row and is_choice and any(each in strange for each in row)


def _list_alike(fact: Fact, text: str) -> list[Span]:
    """Spans of values that could be the answer: other numbers, dates, or codes. For other words,
    this cannot be decided."""
    if fact.kind == "number":
        own = read_number(fact.value) or Decimal(0)
        return [one.span for one in find_numbers(text) if one.value not in (own * 100, own / 100)]
    if fact.kind == "date":
        return [one.span for one in find_told_dates(text)]
    return (
        [match.span() for match in _CODE.finditer(text)]
        if _CODE.fullmatch(normalise(str(fact.value)))
        else []
    )


def _find_rival(fact: Fact, message: str, text: str) -> Json:
    """The first rival that the message states and does not deny; None if there is none. A rival
    inside a mention of the fact does not count. A rival that contains the fact does."""
    if fact.kind == "pattern":
        text, own, kind = _leave_out(str(fact.value), message), list[Span](), "text"
    else:
        own, kind = [*_find(fact.kind, fact.value, text), *_find_also(fact, text)], fact.kind
    said: list[tuple[Json, Span]] = []
    for rival in fact.rivals:
        # A number inside a key is not a stated number.
        for span in _find("text" if _is_key(fact, rival) else kind, rival, text):
            if not is_denied(text, span) and not any(
                start <= span[0] and span[1] <= end for start, end in own
            ):
                said.append((rival, span))
                break
    if any(not _is_key(fact, rival) for rival, _ in said) and _is_report(
        fact, said, own, _read_aloud(fact, message)
    ):
        return None
    return said[0][0] if said else None


def _is_key(fact: Fact, rival: Json) -> bool:
    """Whether a rival is a key, which people do not state in a report. If the answer itself looks
    like a key, people use such names, and the result is False."""
    looks = isinstance(rival, str) and _KEY.fullmatch(rival) is not None
    return looks and not (fact.kind == "text" and _KEY.fullmatch(str(fact.value)))


def _read_aloud(fact: Fact, message: str) -> str:
    """The message with its capitals. If normalising keeps the length, its positions are those of
    `_read`."""
    return _drop_numbering(message) if fact.kind == "number" else message


def _is_report(
    fact: Fact, said: Sequence[tuple[Json, Span]], own: Sequence[Span], message: str
) -> bool:
    """Whether the message states the rivals in a full report of the answer, and not instead of the
    answer.

    A sentence states the fact and no rival. Every rival stands in a later sentence of another
    shape. If there are so many rivals that a guess gains nothing, a rival may also come earlier.
    The fact's sentence or all sentences with rivals are prose. A recital has one shape for all: "S1
    has 2. S2 has 5."
    """
    text = normalise(message)
    if (
        len(text) != len(message)
        or any(_is_key(fact, rival) for rival, _ in said)
        or fact.kind not in ("text", "number")
    ):
        return False
    if fact.kind == "text" and (len(said) > 1 or len(fact.rivals) < _LEAST_RIVALS):
        return False
    many = (
        fact.kind == "number"
        and sum(not _is_key(fact, rival) for rival in fact.rivals) >= _MANY_RIVALS
    )
    places, spans = (
        _list_sentences(text),
        [span for rival in fact.rivals for span in _find_all(fact, rival, text)],
    )
    held = {next(place for place in places if place[0] <= span[0] < place[1]) for span in spans}
    bare = blank(message, [*own, *spans])
    return any(
        (_is_prose(text, (begin, end)) or all(_is_prose(text, place) for place in held))
        and all(
            (many or place[0] > begin) and _shape(bare, place) != _shape(bare, (begin, end))
            for place in held
        )
        and not _HEDGE.search(
            text[begin : max(end, *(place[1] for place in held if place[0] > begin), end)]
        )
        for begin, end in places
        if (begin, end) not in held
        and any(begin <= span[0] < end and not is_denied(text, span) for span in own)
    )


def _is_prose(text: str, place: Span) -> bool:
    return _PROSE.search(text[place[0] : place[1]]) is not None


def _find_all(fact: Fact, rival: Json, text: str) -> list[Span]:
    own = [*_find(fact.kind, fact.value, text), *_find_also(fact, text)]
    return [
        span
        for span in _find(fact.kind, rival, text)
        if not any(start <= span[0] and span[1] <= end for start, end in own)
    ]


def _list_sentences(text: str) -> list[Span]:
    """Spans of sentences and lines, without gaps."""
    ends = [match.end() for match in _SENTENCE.finditer(text)]
    begins = [0, *(end for end in ends if end < len(text))]
    return list(zip(begins, [*begins[1:], len(text)], strict=True))


def _shape(bare: str, place: Span) -> tuple[str, ...]:
    """The words of a sentence that begin with a small letter. The answers in the message must be
    blanked out."""
    return tuple(
        word for word in re.findall(r"[^\W\d_]+", bare[place[0] : place[1]]) if word[0].islower()
    )


@lru_cache(16)
def _leave_out(pattern: str, message: str) -> str:
    """A normalised message without the matches of a pattern. Cached, because several facts and
    verdicts need the same result."""
    return normalise(regex.drop(pattern, _join_lines(message)))


def _find(kind: str, value: Json, text: str) -> list[Span]:
    """Spans of a value in a normalised text."""
    if kind == "number" and (number := read_number(value)) is not None:
        return [said.span for said in find_numbers(text) if is_same_number(said, number)]
    if kind == "date" and (day := read_date(value)) is not None:
        return [said.span for said in find_told_dates(text) if is_same_date(said, day)]
    return find_words(text, render_leaf(value))


def _find_also(fact: Fact, text: str) -> list[Span]:
    return [span for wording in fact.also for span in find_words(text, wording)]
