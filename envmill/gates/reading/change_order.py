"""Compares the request's sentences with the reference path's changes: in which order they are
wanted, which are unasked, and which have other amounts."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import pairwise

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import ScenarioCase
from envmill.gates.exploring.trials import list_writes
from envmill.gates.reading.given_values import amounts_to
from envmill.gates.reading.known_values import KnownValues, list_leaves, read_numbers
from envmill.gates.reading.question import Question
from envmill.gates.reading.request_alignment import (
    RequestAlignment,
    RequestedChange,
    Sign,
    mask_sign,
)
from envmill.gates.s15 import describe_row
from envmill.language.words import find_words, normalise
from schemas.base import Json

_TURNS_ROUND = re.compile(
    r"\b(?:before|first|once|prior|earlier|until|unless|when|as soon as|after (?!that\b|which\b|"
    r"this\b))"
)
"""Words by which the wanted order may differ from the order of mention, as in `A, but first B`."""
_WAITS = re.compile(
    r"\b(?:once|when|until(?! \d)|unless|as soon as|after|last|lastly|finally|later|in the end|"
    r"only then)\b"
)
"""Words by which a sentence asks for something later than a sentence after it does."""
_GOES_FIRST = re.compile(
    r"\b(?:beforehand|prior to|before (?:that|this|these|those|any|all|you|doing|the))\b"
    r"|\b(?:but|though|however)\b.*\bfirst\b|\S+\s+\S+\s+\S+.*\bfirst\b"
)
"""Words by which a sentence asks for something earlier than a sentence before it does. `First`
among its first three words only begins a list, unless `but`, `though` or `however` precedes it."""
_NAMED_FIRST = "".join(
    rf"(?<!\b{word} )" for word in ("the", "very", "a", "our", "my", "your", "his", "her", "their")
)
_DEMANDS = re.compile(
    r"\b(?:(?:\A|(?<=and )|(?<=[,;.:!?] )|(?<=[\n-] )|(?<=\n))then(?! *(?:[.,;:!?)]|$))"
    rf"|{_NAMED_FIRST}first(?! of all,? (?:thank|hello|hi))|firstly|secondly|thirdly|afterwards|"
    r"after (?:that|this|which)"
    r"|followed by|finally|lastly|subsequently|thereafter"
    r"|whereupon|only then|before (?:that|this|you|doing)|beforehand|once (?:that|this|it|he|she|"
    r"they)|as soon as"
    r"|in (?:this|that|the following) order"
    r"|one after (?:the other|another)|one by one|step by step"
    r"|(?:\A|(?<=and )|(?<=[;.:!?] )|(?<=\n))next(?=,)|to (?:begin|start) with)\b"
)
"""Words that demand an order. A list of wishes demands none, numbered or not; neither do "the very
first day", "he stays until six then" and "we are then short of one"."""
_JOINS = re.compile(
    r"\b(?:and|then|because|so that|after(?! \d)|afterwards|plus|next|also|too|as well|followed|"
    r"whereupon"
    r"|furthermore|subsequently|thereafter"
    r"|before (?:\w+ing|that|this|these|it|you|i|we|they|he|she|the|a|an|all|any))\b"
    r"(?: (?:then|also|after that|afterwards|next)\b)?|[;+](?=.*\w)"
)
"""Words that join two wishes in one sentence."""
_OPENING = 12
"""Number of characters at the start of a sentence in which a word such as `also` links it to the
sentence before, and does not join two wishes."""
_DEPTH = 2
"""Number of references followed from a row, because people often call a row by the name of another
one."""


def order_as_asked(subject: ScenarioCase, asked: RequestAlignment) -> list[int] | None:
    """Positions of the changes in the requested order, found by sentences or else by words. None if
    no order is demanded, or if neither way finds one that differs from the path's."""
    if not _DEMANDS.search(normalise(subject.scenario.request)):
        return None
    found = order_by_sentences(asked)
    return found if found or _keeps_an_order(asked) else order_by_words(subject)


def _keeps_an_order(asked: RequestAlignment) -> bool:
    """Whether words demand the path's order of two changes, where the order of mention is another."""
    return any(
        late.sentence < soon.sentence and is_meant(late, soon, asked)
        for soon, late in pairwise(asked.known)
    )


def order_by_words(subject: ScenarioCase) -> list[int] | None:
    """Sorts changes by where the request first mentions a value that no other change has. None if
    it mentions none for some change, if the order is the path's, or if words may reverse it."""
    stock, writes = StateIndex.of(subject.scenario.initial_state), list_writes(subject)
    text = normalise(subject.scenario.request)
    words = {place: set(list_words(subject, place, stock)) for place in writes}
    found: dict[int, int] = {}
    for place in writes:
        own = words[place] - {word for other in writes if other != place for word in words[other]}
        starts = [
            spans[0][0] for word in own if len(word) > 1 and (spans := find_words(text, word))
        ]
        if not starts:
            return None
        found[place] = min(starts)
    asked = sorted(writes, key=found.__getitem__)
    return None if asked == writes or _TURNS_ROUND.search(text) else asked


def list_words(subject: ScenarioCase, place: int, stock: StateIndex) -> Iterator[str]:
    """Values of a call's arguments, and every plain value of the rows that these name and of the
    rows those refer to."""
    arguments = subject.scenario.oracle[place].arguments
    for name, value in (
        (name, leaf) for name, given in arguments.items() for leaf in list_leaves(given)
    ):
        yield str(value)
        if home := stock.find_home(value, name):
            yield from (str(word) for _, word in describe_row(stock, home, str(value), _DEPTH))


def order_by_sentences(asked: RequestAlignment) -> list[int] | None:
    """Sorts changes by the sentence that asks for each, where that is certain; a change without one
    keeps its position. None if the result is the path's order."""
    ordered = iter(sort_as_asked(asked.known, asked))
    places = [next(ordered).place if one.sentence >= 0 else one.place for one in asked.wishes]
    return None if places == [one.place for one in asked.wishes] else places


def sort_as_asked(
    known: Sequence[RequestedChange], asked: RequestAlignment
) -> list[RequestedChange]:
    """Sorts changes by sentence. Neighbours keep the path's order if a sentence is uncertain
    (`is_sure`) or if words demand that order (`is_meant`)."""
    ordered = list(known)
    for _ in known:
        for place, (soon, late) in enumerate(pairwise(ordered)):
            if (
                late.sentence < soon.sentence
                and is_sure(late, soon, asked)
                and not is_meant(late, soon, asked)
            ):
                ordered[place : place + 2] = [late, soon]
    return ordered


def is_sure(late: RequestedChange, soon: RequestedChange, asked: RequestAlignment) -> bool:
    """Whether the request surely asks for `late`, which the path does after `soon`, before it: the
    sentence of `late` shows a name, a number or two signs of it, and that of `soon` not all of
    these and more. No sentence that would keep the path's order names either change as well as its
    own does, or better."""
    here, there = (late.list_shown(asked.texts[each.sentence]) for each in (late, soon))
    if not (len(here) > 1 or not all(str(sign).islower() for _, sign in here)) or here < there:
        return False
    return _is_named_best(late, range(soon.sentence, len(asked.texts)), asked) and _is_named_best(
        soon, range(late.sentence + 1), asked
    )


def _is_named_best(change: RequestedChange, others: Iterable[int], asked: RequestAlignment) -> bool:
    """Whether its own sentence names the change better than each of the given others does. Values
    in small letters, such as `urgent`, do not count, because they describe many rows."""
    own = _weigh_names(change, asked.texts[change.sentence])
    return all(_weigh_names(change, asked.texts[number]) < own for number in others)


def _weigh_names(change: RequestedChange, text: Question) -> float:
    return sum(
        change.signs[sign]
        for sign in change.list_telling(text)
        if sign[0] == "name" or not str(sign[1]).islower()
    )


def is_meant(late: RequestedChange, soon: RequestedChange, asked: RequestAlignment) -> bool:
    """Whether words demand the path's order: `late` is named in an earlier sentence than `soon`,
    but is to be done after it.

    "Before that" may refer to every wish of its sentence, or order two of them. It refers to all if
    the path does all of them before the late change.
    """
    waits, goes_first = (
        _WAITS.search(asked.texts[late.sentence].text),
        _GOES_FIRST.search(asked.texts[soon.sentence].text),
    )
    return waits is not None or (
        goes_first is not None
        and all(other.place < late.place for other in asked.list_beside(soon))
    )


def list_unasked(asked: RequestAlignment) -> Iterator[RequestedChange]:
    """Changes that no sentence asks for: theirs has no more parts than other changes, and says more
    about one of these. A change that another sentence may ask for is not among them."""
    for one in asked.known:
        text, rivals = asked.texts[one.sentence], asked.list_beside(one)
        if (
            len(rivals) > count_joins(text, rivals)
            and not asked.may_be_elsewhere(one)
            and not _goes_with_others(one, asked)
        ):
            shown = one.list_telling(text)
            if any(_mentions_more(rival, one, shown, rival.list_telling(text)) for rival in rivals):
                yield one


def _goes_with_others(wish: RequestedChange, asked: RequestAlignment) -> bool:
    """Whether a sentence that asks for other changes says a value of this one that none of them
    has, and has a part left to ask for it."""
    for number, text in enumerate(asked.texts):
        others = [one for one in asked.wishes if one.sentence == number]
        if number != wish.sentence and others and count_joins(text, others) >= len(others):
            taken = {sign for one in others for sign in one.signs}
            if any(sign[0] == "value" and sign not in taken for sign in wish.list_shown(text)):
                return True
    return False


def count_joins(text: Question, wishes: Sequence[RequestedChange]) -> int:
    """Number of words that join another wish to a sentence, after its opening and after the first
    word of its wishes."""
    signs = {sign for wish in wishes for sign in wish.list_telling(text)}
    begin = max(
        _OPENING, min(text.find_start(mask_sign(sign, text)) for sign in signs) if signs else 0
    )
    return len(_JOINS.findall(text.text[begin:]))


def _mentions_more(
    rival: RequestedChange, one: RequestedChange, shown: set[Sign], told: set[Sign]
) -> bool:
    """Whether the sentence shows the same signs of the rival, and more. If it shows exactly the
    same, it asks for the earlier change, unless both are calls of one tool."""
    return shown < told or (
        shown == told and rival.place < one.place and rival.call.name != one.call.name
    )


def list_other_amounts(
    asked: RequestAlignment, shown: Sequence[set[Decimal]]
) -> Iterator[tuple[RequestedChange, Decimal, Decimal]]:
    """(change, an amount that its sentence does not say, another amount that it says). The other one
    is no amount of the change, the sentence says it more often than its other changes use it, and
    no text of a row or argument in it contains it.

    Amounts in other words or units count as said, and so do amounts that words such as `more`,
    `half` or `total` derive from numbers in earlier replies.
    """
    for one in asked.known:
        text = asked.read_on(one)
        said, own = Counter(number.value for number in read_numbers(text)), list_amounts(one)
        sentence = KnownValues.of([text], 0)
        mine = own - {
            number for number in own - said.keys() if amounts_to(number, sentence, shown[one.place])
        }
        if mine <= said.keys() or asked.may_be_elsewhere(one):
            continue
        # An amount that is said twice and used once also belongs to something else.
        used = Counter(amount for each in asked.list_beside(one) for amount in list_amounts(each))
        texts = {
            sign
            for each in asked.wishes
            for sort, sign in each.signs
            if sort == "value" and isinstance(sign, str)
        }
        named = {
            number.value
            for sign in texts
            if find_words(text, sign)
            for number in read_numbers(sign)
        }
        # `In two rounds` counts the calls of a tool.
        rounds = Counter(each.call.name for each in asked.wishes)[one.call.name]
        counts = {Decimal(rounds)} if rounds > 1 else set[Decimal]()
        if spare := (said - used).keys() - own - named - counts:
            yield one, min(mine - said.keys()), min(spare)


def list_amounts(wish: RequestedChange) -> set[Decimal]:
    given = [value for name, value in wish.call.arguments.items() if name not in wish.counted]
    return {Decimal(str(leaf)) for leaf in list_leaves(given) if is_amount(leaf)}


def is_amount(leaf: Json) -> bool:
    return isinstance(leaf, int | float) and not isinstance(leaf, bool)
