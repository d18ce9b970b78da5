"""A question as a list of words, and which of them a name, a value or an operation accounts for.

request, name of the fact, sentence of the last words ─► words, each a bit ─► mask of the words accounted for
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.reading.known_values import read_day, read_plain_number
from envmill.language.dates import find_dates, is_same_date, read_date
from envmill.language.numbers import find_numbers, is_same_number, read_number
from envmill.language.words import Span, blank, find_words, normalise, split_words
from schemas.base import Json
from schemas.scenario import Fact, Scenario

Mask = int
"""Words of a question, one bit each."""

OPERATIONS: dict[str, str] = {
    "count": r"how many|how often|number of|count(?! on)|amount of",
    "sum": r"total|totals|sum|in all|altogether|adds? up|add(?:ed|ing) up|come to|comes to|combined|"
    r"overall",
    "highest": r"highest|largest|biggest|greatest|most|maximum|max|longest|top|leads?|dearest|heaviest|"
    r"best",
    "lowest": r"lowest|smallest|least|minimum|min|shortest|fewest|cheapest|lightest|worst",
    "last": r"latest|last|newest|(?:most )?recent(?:ly)?",
    "first": r"earliest|first|oldest|soonest|next",
    "mean": r"average|mean|on average",
}
"""Operation on rows → words that ask for it."""

_ARITHMETIC = re.compile(
    r"\b(?:differences?|(?:more|less|fewer|longer|shorter|cheaper|dearer|older|younger|further|"
    r"higher|lower) than"
    r"|left over|would (?:we|i|they|he|she|it|you|then|the)|still to be|less what|minus"
    r"|remain(?:s|ing)?|how (?:long|old|far)|days? (?:between|from|until)"
    r"|per ?cent|percentage|share|ratio|times as|double|twice|apart)\b|%"
)
"""Signs of a calculation with more than one step."""
_WISHED = re.compile(
    r"(?i)\b(?:want(?:s|ed)?|wish(?:es)?|(?:would|'d) like|needs?|expects?|demands?|have|gets?|"
    r"makes?|marks?|sets?"
    r"|puts?|(?:should|must|ought to"
    r"|could|can|to) be)\b[^.,;:!?\n]{0,48}?\s(?P<state>[a-z]+(?:ed|en|own|ut|"
    r"ent))(?=\s*(?:[.,;:!?)\n]|$|(?:and|or"
    r"|but|for|from|until|till|by"
    r"|before|at|as|because|since|so|now|today|right|again|please)\b))"
)
"""A wished state, which follows the thing it is wished for."""
_WISHED_VALUE = re.compile(
    r"(?i)\b(?:(?:should|must|shall|has to|needs? to|is to|to) (?:have|get|bear|carry|be)|give|"
    r"set|change|put|make|enter)\b"
    r"(?P<between>(?:(?!\b(?:with|whose|that|which|"
    r"who)\b)[^.,;:!?\n]){1,80}?)(?P<quoted>'[^'\n]+'|\"[^\"\n]+\"|“[^”\n]+”)"
)
"""A quoted text after a word that assigns it. After `with` or `whose` it identifies a thing
instead."""
_ASKS = re.compile(
    r"(?i)\?|\b(?:tell|let (?:me|us) know|text|inform|answer|report|confirm|say|write back|ring|"
    r"how (?:many|much"
    r"|long|often|old)|which|who|whose"
    r"|(?:want|need|like) to know|what)\b"
)
"""Words of a sentence that asks for an answer."""
EMPTY = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by do for from has have id in is it its key no not of on or that "
        "the to value was what which who with yes",
    )
)
"""Words that describe nothing."""


@dataclass(frozen=True)
class Question:
    """The question with the fact's name, and the text around the answer in the reference path's
    last words."""

    text: str
    """Normalised text without the answer itself."""
    letters: str = ""
    """Single letters used as names: `zone D`."""

    @classmethod
    def of(cls, scenario: Scenario, fact: Fact) -> "Question":
        said = [one for one in split_sentences(scenario.say) if find_told(fact, normalise(one))]
        request = scenario.request
        if scenario.polarity != "answer":
            request = find_asked(
                leave_out_wishes(request, StateIndex.of(scenario.initial_state).fields)
            )
        text = normalise("\n".join([request, fact.name, *said]))
        return cls(
            blank(text, find_told(fact, text)),
            "".join(re.findall(r"\b[B-HJ-Z]\b", f"{scenario.request} {said}")),
        )

    def mark_name(self, name: str) -> Mask:
        """Words that name a field, a tool or a collection, in singular or plural."""
        return self._join(bit for word in cut_name(name) for bit in self._stems.get(stem(word), ()))

    def mark_value(self, value: Json) -> Mask:
        """Words that say a value; none for a yes, a no, or a letter."""
        if isinstance(value, bool) or value is None:
            return 0
        if day := read_day(value):
            return self._days.get(day[5:], 0)
        if (number := read_plain_number(value)) is not None:
            return self._numbers.get(number, 0)
        words = split_words(str(value))
        if (
            not words
            or words[0] not in self._places
            or (len(words) == 1 and not self._describes(str(value)))
        ):
            return 0
        starts = (
            place
            for place in self._places[words[0]]
            if self.words[place : place + len(words)] == words
        )
        return self._join(place + step for place in starts for step in range(len(words)))

    def _describes(self, word: str) -> bool:
        return word in self.letters if len(word) == 1 else word.casefold() not in EMPTY

    def mark_operation(self, name: str) -> Mask:
        return self._operations[name]

    def calculates(self, fields: Iterable[str]) -> bool:
        """Whether the answer takes more than one step of calculation. Signs that are names of
        fields do not count."""
        named = self._join_masks(map(self.mark_name, fields))
        return any(self._cover(found.span()) & ~named for found in _ARITHMETIC.finditer(self.text))

    def render_words(self, mask: Mask) -> str:
        return " ".join(word for place, word in enumerate(self.words) if mask >> place & 1)

    def find_start(self, mask: Mask) -> int:
        """Position in the text of the mask's first word."""
        return next((start for place, (start, _) in enumerate(self._spans) if mask >> place & 1), 0)

    def is_label(self, mask: Mask, name: str) -> bool:
        """Whether the mask contains a number after a word of the name, as in `box 2`."""
        known = {stem(word) for word in cut_name(name)}
        places = [
            place for place, word in enumerate(self.words) if mask >> place & 1 and word.isdigit()
        ]
        return any(place and stem(self.words[place - 1]) in known for place in places)

    def is_plain(self, mask: Mask) -> bool:
        """Whether all words are numbers or describe nothing."""
        return all(
            word in EMPTY or word.replace(".", "").isdigit()
            for word in self.render_words(mask).split()
        )

    @cached_property
    def _spans(self) -> list[Span]:
        return [
            found.span()
            for found in re.finditer(r"[^\W_]+(?:(?<=\d)[.,](?=\d)[^\W_]+)*", self.text)
        ]

    @cached_property
    def words(self) -> list[str]:
        return [self.text[start:end] for start, end in self._spans]

    @cached_property
    def _places(self) -> dict[str, list[int]]:
        places: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            places.setdefault(word, []).append(place)
        return places

    @cached_property
    def _stems(self) -> dict[str, list[int]]:
        stems: dict[str, list[int]] = {}
        for place, word in enumerate(self.words):
            if word not in EMPTY:
                stems.setdefault(stem(word), []).append(place)
        return stems

    @cached_property
    def _numbers(self) -> dict[Decimal, Mask]:
        found: dict[Decimal, Mask] = {}
        for number in find_numbers(self.text):
            found[number.value] = found.get(number.value, 0) | self._cover(number.span)
        return found

    @cached_property
    def _days(self) -> dict[str, Mask]:
        found: dict[str, Mask] = {}
        for day in find_dates(self.text):
            name = f"{day.month:02d}-{day.day:02d}"
            found[name] = found.get(name, 0) | self._cover(day.span)
        return found

    @cached_property
    def _operations(self) -> dict[str, Mask]:
        return {
            name: self._join_masks(
                self._cover(found.span()) for found in re.finditer(rf"\b(?:{words})\b", self.text)
            )
            for name, words in OPERATIONS.items()
        }

    def _cover(self, span: Span) -> Mask:
        return self._join(
            place
            for place, (start, end) in enumerate(self._spans)
            if start < span[1] and span[0] < end
        )

    @staticmethod
    def _join(places: Iterable[int]) -> Mask:
        mask = 0
        for place in places:
            mask |= 1 << place
        return mask

    @staticmethod
    def _join_masks(masks: Iterable[Mask]) -> Mask:
        whole = 0
        for mask in masks:
            whole |= mask
        return whole


def leave_out_wishes(request: str, fields: Iterable[str] = ()) -> str:
    """The request without wished states: `I want this agent suspended` describes no suspended
    agent, and `it should have description 'kept for the audit'` no thing that already has this
    description."""
    named = {word for name in fields for word in cut_name(name)}

    def leave_out(found: re.Match[str]) -> str:
        before = split_words(found["between"])
        # The text belongs to a field if its name stands right before, or before `to` or `as`.
        of_field = bool(before) and (
            before[-1] in named or (before[-1] in ("to", "as") and not named.isdisjoint(before))
        )
        return found[0].removesuffix(found["quoted"]) if of_field else found[0]

    return _WISHED_VALUE.sub(
        leave_out, _WISHED.sub(lambda found: found[0].removesuffix(found["state"]), request)
    )


def find_asked(request: str) -> str:
    """Sentences that ask for an answer, each with the sentence before, which gives the subject; the
    whole request if there is none."""
    sentences = split_sentences(request)
    asking = [place for place, sentence in enumerate(sentences) if _ASKS.search(sentence)]
    kept = sorted({near for place in asking for near in (place - 1, place) if near >= 0})
    return "\n".join(sentences[place] for place in kept) or request


def find_told(fact: Fact, text: str) -> list[Span]:
    """Where a normalised text says the fact's value."""
    if fact.kind == "number" and (number := read_number(fact.value)) is not None:
        return [said.span for said in find_numbers(text) if is_same_number(said, number)]
    if fact.kind == "date" and (day := read_date(fact.value)) is not None:
        return [said.span for said in find_dates(text) if is_same_date(said, day)]
    return find_words(text, str(fact.value))


def split_sentences(text: str) -> Sequence[str]:
    """Splits roughly: a name with a full stop may be cut."""
    return [one for one in re.split(r"(?<=[.!?;])\s+|\n+", text) if one.strip()]


def stem(word: str) -> str:
    """One form for singular and plural."""
    for ending, instead in (
        ("ies", "y"),
        ("sses", "ss"),
        ("ches", "ch"),
        ("shes", "sh"),
        ("xes", "x"),
        ("s", ""),
    ):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word.removesuffix(ending) + instead
    return word


def cut_name(name: str) -> list[str]:
    """Words of a name: `late_fee`, `lateFee` and `late-fee` have two."""
    spread = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name)
    return [word for word in split_words(spread.replace("_", " ")) if word not in EMPTY]
