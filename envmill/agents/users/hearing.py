"""What an agent's message asks of a user, understood by its words alone.

message ──lines, sentences, clauses──► questions ─┬─ stored wordings, names of facts ─► facts asked for, certainly
                                                  ├─ nouns, values offered ───────────► facts asked for, likely
                                                  └───────────────────────────────────► consent, anything at all, or something unforeseen
"""

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache

from envmill.agents.users.naming import (
    PLACES,
    count_shared,
    cut_worded,
    find_head,
    find_place,
    hold_all,
    is_alike,
    is_day,
    is_worded,
    name_words,
    split_stems,
)
from envmill.language.words import find_words, normalise
from schemas.base import Json
from schemas.scenario import UserContract

_SHORTEST = 3
"""Letters of a value that is not named by chance."""

_SENTENCE = re.compile(r"(?<=[.?!:;])\s+")
_CLAUSE = re.compile(
    r"[,;]? (?:and|or) (?=(?:(?:to|for|on|at|in|from|by|until) )?(?:which|what|who|whom|when|"
    r"where|how)\b)"
)
_ASKS = re.compile(
    r"\?|^(?:and |so |then |also )?(?:what|which|who|whom|when|where|how (?:many|much|long)|shall|"
    r"should|may i|do you|can you|could you)\b|"
    r"\b(?:please (?:tell|give|provide|specify|share|send|confirm|name|state)|let me know (?!if)|"
    r"need from you|"
    r"i (?:still |only |just |also )*need (?:to know|your|the|my|our|one|two|three)|"
    r"you (?:did not|didn't|have not|haven't) (?:say|said|tell|told|name|named|mention|mentioned)|"
    r"(?:is|are) (?:still )?missing)\b"
)
_CLOSES = re.compile(
    r"\b(?:anything|something|any ?one|nothing|what) else\b|\bany (?:other|more|further)\b|"
    r"\bfurther (?:help|questions|assistance)\b|"
    r"\belse i can\b|\blet me know if\b|\bhelp you with\b|\b(?:nothing|not) (?:is|are) missing\b"
)
_CONSENT = re.compile(
    r"\b(?:shall|should|may|can) (?:i|we)\b|\b(?:do you want|would you like) (?:me|us)\b|"
    r"\b(?:is|are|does|would) (?:that|this|it|these|those|everything) .*\b(?:right|correct|ok|"
    r"okay|fine|good|work|suit)\b|"
    r"\bplease confirm\b|\bgo ahead\b|\bproceed\b|\bright\?|\bcorrect\?|\bok(?:ay)?\?"
)
_OPEN = re.compile(
    r"\b(?P<word>which|what|who|whom|when|where|how (?:many|much|long))\b(?P<rest>[^?]*)"
)
"""A question that a yes does not answer."""
_CHOICE = re.compile(r"\bor\b")
_OFFERS = re.compile(
    r"\b(?:how (?:can|may|could) (?:i|we) (?:help|assist|be of)|what (?:can|may) (?:i|we) do for)\b"
)
"""Asks for the errand as a whole."""
_VERBS = frozenset(
    (
        *(
            "is",
            "are",
            "was",
            "were",
            "be",
            "do",
            "does",
            "did",
            "shall",
            "should",
            "will",
            "would",
            "can",
            "could",
            "may",
            "might",
            "must",
        ),
        *(
            "has",
            "have",
            "had",
            "of",
            "the",
            "a",
            "an",
            "to",
            "for",
            "on",
            "in",
            "at",
            "by",
            "from",
            "with",
            "one",
            "i",
            "we",
            "you",
        ),
        *("she", "he", "it", "they", "her", "his", "your", "my", "exactly"),
    )
)
"""Words before which the noun of `which tug …` ends."""
_ANYTHING = re.compile(
    r"\b(?:details?|specifics|particulars|more information|tell me more|clarify|be more specific|"
    r"what exactly|everything (?:you|there))\b"
)
_KINDS: Mapping[str, frozenset[str]] = {
    "day": frozenset({"date", "day", "deadline", "when"}),
    "hour": frozenset({"hour", "time", "when"}),
    "amount": frozenset({"amount", "number", "quantity", "count", "how many", "how much"}),
    "person": frozenset({"who", "whom", "name", "person"}),
}
"""Nouns that ask for the same."""
_PROMISES = re.compile(
    r"^(?:let me|i will|i'll|i am going to|i'm going to|one moment|just a moment|please wait|hold "
    r"on|working on)\b"
)


@dataclass(frozen=True)
class ParsedMessage:
    """What one message asks."""

    facts: tuple[str, ...] = ()
    """Names of facts it asks for."""
    certain: tuple[str, ...] = ()
    """Of them, those asked for by a stored wording or by every word of their names; the others were
    understood from less."""
    consent: bool = False
    """Whether it wants a yes."""
    anything: bool = False
    """Whether it asks for more, of whatever sort."""
    errand: bool = False
    """Whether it asks what the user wants at all."""
    other: bool = False
    """Whether it asks something that no fact answers."""
    promise: bool = False
    """Whether it only announces what it has yet to do."""
    unknown: str = ""
    """The questions that no fact answers."""

    @property
    def asks(self) -> bool:
        return bool(self.facts) or self.consent or self.anything or self.errand or self.other


@dataclass(frozen=True)
class _Question:
    """One clause that asks, as it is compared."""

    text: str
    line: str
    """The line it stands in: a list says first what a point is about."""
    opening: str = ""
    """`which`, `who`, `how many`; empty where a yes could answer."""
    noun: tuple[str, ...] = ()
    """What `which` and `what` ask for."""

    @property
    def words(self) -> frozenset[str]:
        return frozenset(split_stems(self.text))

    @property
    def consents(self) -> bool:
        asks = bool(_CONSENT.search(self.text)) and not _OFFERS.search(self.text)
        return asks and not self.opening and not _CHOICE.search(self.text)


def understand(message: str, contract: UserContract) -> ParsedMessage:
    """Closing courtesies ask nothing. Each question is understood alone: a list may ask for several
    facts."""
    worded = {
        name: asked
        for name, asked in contract.wordings.items()
        if name in contract.facts and is_worded(message, asked)
    }
    questions, promise = _read(
        cut_worded(message, [one for asked in worded.values() for one in asked])
    )
    if not questions and not worded:
        return ParsedMessage(promise=promise)
    plain = normalise(message)
    found, certain, unknown = (
        dict[str, None].fromkeys(worded),
        dict[str, None].fromkeys(worded),
        list[str](),
    )
    for question in questions:
        exact = _find_exact(question, contract)
        likely = _find_likely(question, plain, contract, exact)
        if any(name in contract.hidden for name in likely):
            # "Which berth shall the vessel come in to?" asks for the berth: the vessel was said at
            # first.
            exact = [name for name in exact if name in contract.hidden]
        names = [*exact, *likely]
        certain.update(dict.fromkeys(exact))
        found.update(dict.fromkeys(names))
        if not names and not question.consents and not _OFFERS.search(question.text):
            unknown.append(question.text)
    consent = any(question.consents for question in questions) and not any(
        question.opening for question in questions
    )
    anything = any(_ANYTHING.search(question.text) for question in questions)
    errand = any(_OFFERS.search(question.text) for question in questions)
    other = not (found or consent or anything or errand)
    return ParsedMessage(
        tuple(found), tuple(certain), consent, anything, errand, other, unknown=" ".join(unknown)
    )


@lru_cache(256)
def _read(message: str) -> tuple[tuple[_Question, ...], bool]:
    """The questions of a message, whatever the facts are; and whether it does nothing but
    promise."""
    questions, sentences = list[_Question](), list_sentences(message)
    for line in filter(str.strip, message.splitlines()):
        for sentence in map(str.strip, map(normalise, _SENTENCE.split(line))):
            if _ASKS.search(sentence) and not _CLOSES.search(sentence):
                questions += [_parse(clause, normalise(line)) for clause in _CLAUSE.split(sentence)]
    return tuple(questions), bool(sentences) and not questions and all(
        _PROMISES.search(one) for one in sentences
    )


def _parse(clause: str, line: str) -> _Question:
    opening = _OPEN.search(clause)
    if not opening:
        return _Question(clause, line)
    noun = list[str]()
    for word in split_stems(opening["rest"])[:3] if opening["word"] in ("which", "what") else ():
        if word in _VERBS:
            break
        noun.append(word)
    return _Question(clause, line, opening["word"], tuple(noun))


def _find_exact(question: _Question, contract: UserContract) -> list[str]:
    """Facts all of whose words it is asked with. Of several of one sort all, unless it counts
    them."""
    words = question.words
    counted = words & set(PLACES.values())
    return [
        name
        for name in contract.facts
        if hold_all(name, words)
        and (not counted or find_place(name, contract.facts) in {"", *counted})
    ]


def _find_likely(
    question: _Question, message: str, contract: UserContract, exact: Sequence[str]
) -> list[str]:
    """Facts it asks for in other words: by the noun it asks for, by most of a stored wording, by
    the values it offers."""
    if question.consents or (
        exact and (not question.noun or any(name in contract.hidden for name in exact))
    ):
        return []
    facts, words = contract.facts, question.words
    counted = words & set(PLACES.values())
    left = [
        name
        for name in facts
        if name not in exact and (not counted or find_place(name, facts) in {"", *counted})
    ]
    asked = set(question.noun) or (
        {question.opening} if question.opening not in ("", "which", "what") else words
    )
    if named := [name for name in left if _is_of_kind(name, facts[name], asked)]:
        return _narrow(named, question, contract)
    if exact:
        return []
    if alike := [
        name
        for name in left
        if any(is_alike(one, words) for one in contract.wordings.get(name, ()))
    ]:
        return alike
    if offered := [
        name
        for name in contract.hidden
        if name in left and _is_offered(facts[name], question, message)
    ]:
        return offered
    if question.opening in ("which", "what") and not question.noun:
        # "Which one shall I book?": what it is about was said before.
        return [
            name
            for name in contract.hidden
            if name in left and hold_all(name, set(split_stems(message)))
        ]
    if question.opening and not question.noun:
        near = [
            name
            for name in left
            if count_shared(name, question.text) and not isinstance(facts[name], bool)
        ]
        return _narrow(near, question, contract)
    return []


def _is_of_kind(name: str, value: Json, asked: Set[str]) -> bool:
    """Whether the noun of a fact's name, or another one that asks for the same, is among these."""
    head = find_head(name)
    same = {head}.union(*(kind for kind in _KINDS.values() if head in kind))
    if isinstance(value, str) and is_day(value):
        same |= _KINDS["day"]
    return bool(same & set(asked))


def _narrow(names: Sequence[str], question: _Question, contract: UserContract) -> list[str]:
    """Of several, those that share most words with the line of the question; where one is hidden,
    the known ones need not be told."""
    hidden = [name for name in names if name in contract.hidden] or list(names)
    shared = {
        name: count_shared(name, question.text) * 2 + count_shared(name, question.line)
        for name in hidden
    }
    most = max(shared.values(), default=0)
    return [name for name in hidden if shared[name] == most]


def _is_offered(value: Json, question: _Question, message: str) -> bool:
    """Whether a question names the value among others to choose from."""
    if not isinstance(value, str) or len(value) < _SHORTEST:
        return False
    chooses = bool(_CHOICE.search(question.text)) or (
        question.opening in ("which", "who") and not question.noun
    )
    return chooses and bool(find_words(message, value))


def list_sentences(message: str) -> list[str]:
    """Each as it is compared."""
    return [
        normalise(one).strip()
        for line in message.splitlines()
        for one in _SENTENCE.split(line)
        if one.strip()
    ]


def touches(message: str, name: str) -> bool:
    """Whether a message has so much as a word of a fact's name, or asks for whatever there is: then
    telling it is no slip."""
    return bool(set(name_words(name)) & set(split_stems(message))) or bool(
        _ANYTHING.search(normalise(message))
    )
