"""In which order a request asks for the changes of its reference path, as far as its sentences tell.

request ─► sentences ─► each change goes to the one that says most of it ─► changes asked for before what the path does before them
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise, product

from envmill.agents.attackers.stock import Stock
from envmill.gates.base import Posed
from envmill.gates.question import Question, cut_name, split_sentences
from envmill.gates.s15 import describe_row
from envmill.gates.sources import list_leaves
from envmill.gates.trials import list_writes
from envmill.verifiers.words import find_words, normalise
from schemas.base import Json

_TURNS_ROUND = re.compile(r"\b(?:before|first|once|prior|earlier|until|unless|when|as soon as|after (?!that\b|which\b|this\b))")
"""Words that ask for another order than they stand in."""
_WAITS = re.compile(r"\b(?:once|when|until(?! \d)|unless|as soon as|after|last|lastly|finally|later|in the end|only then)\b")
"""Words by which a sentence asks for something that comes later than what follows it."""
_GOES_FIRST = re.compile(
    r"\b(?:beforehand|prior to|before (?:that|this|these|those|any|all|you|doing|the))\b"
    r"|\b(?:but|though|however)\b.*\bfirst\b|\S+\s+\S+\s+\S+.*\bfirst\b"
)
"""Words by which a sentence asks for something sooner than what it follows. One that begins with `First` only counts."""
_JOINS = re.compile(r"\b(?:and|then|after|afterwards|before|plus|next|also|too|as well|followed|whereupon|furthermore|subsequently|thereafter)\b|[;+]")
"""Words by which one sentence asks for two things."""
_OPENING = 12
"""Characters in which a sentence joins itself to the one before."""
_DEPTH = 2
"""References followed from a row: what people call one is often what another is called."""
_REFERRED = 0.4
"""Weight of what a referred row is called, beside 1 for a row's own fields; and of a tool's other words beside its first."""
_TAKEN = 0.4
"""Weight of a sentence that asks for another change already."""


@dataclass(frozen=True)
class Wish:
    """A change of the reference path, and the sentence that asks for it; -1 where that is open."""

    place: int
    sentence: int


def order_as_asked(subject: Posed) -> list[int] | None:
    """Places of the changes in the order asked for; None where that is the path's own, or where words turn it round."""
    return order_by_sentences(subject) or order_by_words(subject)


def order_by_words(subject: Posed) -> list[int] | None:
    """By where the request first speaks of what is each change's alone; None where it does not of each."""
    stock, writes = Stock.of(subject.scenario.initial_state), list_writes(subject)
    text = normalise(subject.scenario.request)
    words = {place: set(list_words(subject, place, stock)) for place in writes}
    found: dict[int, int] = {}
    for place in writes:
        own = words[place] - {word for other in writes if other != place for word in words[other]}
        starts = [spans[0][0] for word in own if len(word) > 1 and (spans := find_words(text, word))]
        if not starts:
            return None
        found[place] = min(starts)
    asked = sorted(writes, key=found.__getitem__)
    return None if asked == writes or _TURNS_ROUND.search(text) else asked


def list_words(subject: Posed, place: int, stock: Stock) -> Iterator[str]:
    """Values of a change, and what the rows it is about are called."""
    for value in list_leaves(subject.scenario.oracle[place].arguments):
        yield str(value)
        if home := stock.find_home(value):
            yield from (str(word) for _, word in describe_row(stock, home, str(value), _DEPTH))


def order_by_sentences(subject: Posed) -> list[int] | None:
    """By the sentence that asks for each."""
    sentences = split_sentences(subject.scenario.request)
    wishes = find_wishes(subject, sentences)
    known = [one for one in wishes if one.sentence >= 0]
    asked = iter(sort_as_asked(known, sentences))
    ordered = [next(asked).place if one.sentence >= 0 else one.place for one in wishes]
    return None if ordered == [one.place for one in wishes] else ordered


def sort_as_asked(wishes: list[Wish], sentences: Sequence[str]) -> list[Wish]:
    """Sorted by sentence, where no word keeps one behind another."""
    ordered = list(wishes)
    for _ in ordered:
        for place, (soon, late) in enumerate(pairwise(ordered)):
            if late.sentence < soon.sentence and not is_meant(sentences, late, soon, wishes):
                ordered[place : place + 2] = [late, soon]
    return ordered


def is_meant(sentences: Sequence[str], late: Wish, soon: Wish, wishes: Sequence[Wish]) -> bool:
    """Whether the request says in words that what it asks for first comes later; in a sentence of two wishes they are about these."""
    alone = sum(each.sentence == soon.sentence for each in wishes) == 1
    waits, goes_first = _WAITS.search(normalise(sentences[late.sentence])), _GOES_FIRST.search(normalise(sentences[soon.sentence]))
    return waits is not None or (alone and goes_first is not None)


def find_wishes(subject: Posed, sentences: Sequence[str]) -> list[Wish]:
    """Each change with the sentence that says most of it, surest first; one that is taken already says less."""
    stock, places = Stock.of(subject.scenario.initial_state), list_writes(subject)
    texts = [Question(normalise(sentence)) for sentence in sentences]
    scores = [score(list_signs(subject, place, stock), texts) for place in places]
    found, left = dict[int, int](), set(range(len(places)))
    while left and texts:
        row, sentence = max(product(left, range(len(texts))), key=lambda one: (_value(scores, found, *one), -_stray(*one, scores)))
        found[row] = sentence if _value(scores, found, row, sentence) > 0 else -1
        left.discard(row)
    return [Wish(place, found.get(row, -1)) for row, place in enumerate(places)]


def _value(scores: list[list[float]], found: dict[int, int], row: int, sentence: int) -> float:
    return scores[row][sentence] * (_TAKEN if sentence in found.values() else 1.0)


def _stray(row: int, sentence: int, scores: list[list[float]]) -> float:
    """How far it is from where it would stand if the request followed the path."""
    return abs(row / len(scores) - sentence / len(scores[row]))


def list_signs(subject: Posed, place: int, stock: Stock) -> dict[tuple[str, Json], float]:
    """(name or value, which) → weight: the tool's name, its values, what its rows are called, and less what these refer to."""
    call = subject.scenario.oracle[place]
    verb, *nouns = cut_name(call.name) or [call.name]
    signs: dict[tuple[str, Json], float] = {("name", verb): 1.0} | {("name", noun): _REFERRED for noun in nouns}
    for value in list_leaves(call.arguments):
        home = stock.find_home(value)
        signs["value", value] = 1.0
        for name, word in describe_row(stock, home, str(value), _DEPTH) if home else ():
            if isinstance(word, str):
                signs.setdefault(("value", word), _REFERRED if "." in name else 1.0)
    return signs


def score(signs: dict[tuple[str, Json], float], texts: Sequence[Question]) -> list[float]:
    """How much each sentence says; a sign counts the less the more sentences show it. Where a value is said, a tool's name alone is chance."""
    scores, said = [0.0] * len(texts), [False] * len(texts)
    for (sort, sign), weight in signs.items():
        shown = [bool(text.mark_name(str(sign)) if sort == "name" else text.mark_value(sign)) for text in texts]
        for number in (number for number, one in enumerate(shown) if one):
            scores[number] += weight / sum(shown)
            said[number] |= sort == "value"
    return [round(one, 6) if known or not any(said) else 0.0 for one, known in zip(scores, said, strict=True)]


def list_unasked(subject: Posed) -> list[int]:
    """Places of changes that no sentence asks for: what speaks of their rows asks for others, as many as it has parts."""
    stock, sentences = Stock.of(subject.scenario.initial_state), split_sentences(subject.scenario.request)
    wishes = [one for one in find_wishes(subject, sentences) if one.sentence >= 0]
    unasked: list[int] = []
    for one in wishes:
        text = Question(normalise(sentences[one.sentence]))
        rivals = [each for each in wishes if each.sentence == one.sentence and each is not one]
        if len(rivals) > len(_JOINS.findall(text.text[_OPENING:])):
            mine, *others = (_list_shown(list_signs(subject, each.place, stock), text) for each in (one, *rivals))
            unasked += [one.place] if any(mine < other for other in others) else []
    return unasked


def _list_shown(signs: Iterable[tuple[str, Json]], text: Question) -> set[tuple[str, Json]]:
    return {(sort, sign) for sort, sign in signs if (text.mark_name(str(sign)) if sort == "name" else text.mark_value(sign))}
