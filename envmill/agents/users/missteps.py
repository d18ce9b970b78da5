"""What a simulated user may not do: what a comparison with its contract proves, and what words only
suggest.

contract, dialogue, answer ─┬─ proof ──────► silent · oversteps · contradicts: the rollout ends in error
                            └─ suspicion ──► oversteps · stops_early · contradicts · withholds · reveals · invents · repeats, and
                                             never_stops at the limit: recorded, and confirmed or
                                             not by a judge
"""

import re
from collections.abc import Iterator, Sequence
from datetime import date
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.hearing import touches, understand
from envmill.agents.users.naming import is_worded
from envmill.language.dates import find_dates, read_date
from envmill.language.numbers import find_numbers, read_number
from envmill.language.told import list_leaves, render_leaf
from envmill.language.words import normalise, split_words
from envmill.verifiers.facts import is_given
from schemas.base import Json
from schemas.rollout import Misstep
from schemas.scenario import Fact

_IGNORANT = re.compile(
    r"\b(?:i (?:do not|don't) (?:know|remember|have (?:that|it|one))|not sure|no idea|(?:cannot|"
    r"can't) (?:say|remember|recall))\b"
)
_CODE = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{3,}(?![\w-])")
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|am|pm|h|kg|km|cm|mm|ml|min|%)")
_SMALL = 12
"""Numbers up to this one are also how people count and point."""
_SHORTEST = 3
"""Characters of a value that is not said by chance."""
_SAID_BEFORE, _LEAST_WORDS = 2, 4
_STILL_GOING = 3


def find_misstep(
    knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer
) -> Misstep:
    """The first fault of an answer to the dialogue's last line that is proven without reading
    language; empty where there is none."""
    if not answer.end and not answer.text.strip() and not answer.does:
        return "silent"
    if any(name not in knowledge.deeds for name in answer.does):
        return "oversteps"
    return "contradicts" if _is_refuted(knowledge, dialogue, answer) else ""


def finds_no_end(knowledge: UserKnowledge, dialogue: Sequence[Utterance]) -> bool:
    """Whether the agent has long since asked for nothing, and the user goes on."""
    lately = [line.text for line in dialogue if line.who == "agent"][-_STILL_GOING:]
    heard = [understand(text, knowledge.contract) for text in lately]
    return (
        len(heard) == _STILL_GOING
        and all(text.strip() for text in lately)
        and not any(one.asks or one.promise for one in heard)
    )


def list_suspicions(
    knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer
) -> list[Misstep]:
    """Faults that the words of an answer suggest, and that are not this user's manner. A question
    in other words than these checks know
    makes an honest answer look wrong."""
    meant = frozenset[str](answer.meant)
    return [one for one in _list_suspicions(knowledge, dialogue, answer) if str(one) not in meant]


def _list_suspicions(
    knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer
) -> Iterator[Misstep]:
    if any(not _is_bidden(name, knowledge, dialogue) for name in answer.does):
        yield "oversteps"
    heard = understand(dialogue[-1].text, knowledge.contract)
    asked = [name for name in heard.certain if _is_plain(knowledge.contract.facts[name])]
    said = [*(line.text for line in dialogue if line.who == "user"), answer.text]
    if answer.end and any(
        not states_value(knowledge.contract.facts[name], "\n".join(said)) for name in asked
    ):
        yield "stops_early"
    if any(_is_against(knowledge.contract.facts[name], answer.text) for name in asked):
        yield "contradicts"
    if any(_is_withheld(name, knowledge, dialogue, answer) for name in asked):
        yield "withholds"
    if any(_is_revealed(name, knowledge, dialogue, answer) for name in knowledge.contract.hidden):
        yield "reveals"
    if invents(knowledge, dialogue, answer):
        yield "invents"
    if not heard.certain and not answer.end and repeats(knowledge, dialogue, answer):
        yield "repeats"


def _is_refuted(
    knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer
) -> bool:
    """Asked nothing but a stored question for a number, date or code, the user says nothing but
    another number, date or code."""
    contract, asked = knowledge.contract, split_words(dialogue[-1].text)
    names = [
        name
        for name, stored in contract.wordings.items()
        if name in contract.facts and asked in map(split_words, stored)
    ]
    said = _sort_value(answer.text)
    others = [
        _sort_value(contract.facts[name]) == said
        and not states_value(contract.facts[name], answer.text)
        for name in names
    ]
    return bool(said and others) and all(others)


def _sort_value(value: Json) -> str:
    """`date`, `number` or `code` where the whole value is one; empty for any other text."""
    if not _is_plain(value):
        return ""
    plain = normalise(render_leaf(value)).strip(" .!")
    for sort, found in (("date", find_dates(plain)), ("number", find_numbers(plain))):
        if len(found) == 1 and found[0].span == (0, len(plain)):
            return sort
    return "code" if _CODE.fullmatch(plain) else ""


def _is_bidden(name: str, knowledge: UserKnowledge, dialogue: Sequence[Utterance]) -> bool:
    """Whether it is theirs to do, and the agent has so much as touched it in words."""
    return name in knowledge.deeds and any(
        line.who == "agent" and touches(line.text, name) for line in dialogue
    )


def states_value(value: Json, text: str) -> bool:
    """Whether a text says a value, in any usual spelling."""
    return is_given(Fact(name="", kind=_kind(value), value=value), text)


def _is_plain(value: Json) -> bool:
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _kind(value: Json) -> Literal["text", "number", "date"]:
    if isinstance(value, str):
        return "date" if read_date(value) is not None and len(value) < 30 else "text"
    return "number" if read_number(value) is not None else "text"


def _is_against(value: Json, text: str) -> bool:
    """Asked for it, the user names another of its sort, or says that it does not know."""
    if states_value(value, text):
        return False
    plain, kind = normalise(text), _kind(value)
    rivals = (
        find_dates(plain) if kind == "date" else find_numbers(plain) if kind == "number" else ()
    )
    return bool(rivals) or bool(_IGNORANT.search(plain))


def _is_withheld(
    name: str, knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer
) -> bool:
    """Asked for something hidden and not told yet, by a question that was stored with it, the user
    says something else."""
    contract = knowledge.contract
    if (
        name not in contract.hidden
        or answer.does
        or not is_worded(dialogue[-1].text, contract.wordings.get(name, ()))
    ):
        return False
    return not states_value(
        contract.facts[name], "\n".join([*(line.text for line in dialogue), answer.text])
    )


def _is_revealed(
    name: str, knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer
) -> bool:
    value = knowledge.contract.facts.get(name)
    if (
        not _is_plain(value)
        or len(render_leaf(value)) < _SHORTEST
        or not states_value(value, answer.text)
    ):
        return False
    if any(
        (line.who == "agent" and touches(line.text, name)) or states_value(value, line.text)
        for line in dialogue
    ):
        return False
    facts, asked = knowledge.contract.facts, [line.text for line in dialogue if line.who == "agent"]
    if any(line.who == "agent" and _asks_for(line.text, name, knowledge) for line in dialogue):
        return False
    # A thing that was asked for is often named by another: the unit of that request, the batch in
    # that oven.
    return not any(
        _is_plain(facts[other]) and states_value(value, render_leaf(facts[other]))
        for other in facts
        if other != name and any(touches(text, other) for text in asked)
    )


def _asks_for(message: str, name: str, knowledge: UserKnowledge) -> bool:
    """In other words than its name's: by a stored question, or by what it asks for."""
    return (
        is_worded(message, knowledge.contract.wordings.get(name, ()))
        or name in understand(message, knowledge.contract).facts
    )


def invents(knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer) -> bool:
    """A number, date or code that neither the contract nor the agent ever named."""
    contract = knowledge.contract
    told = [
        contract.opening,
        contract.persona,
        contract.stop,
        *contract.goals,
        *contract.fallbacks.values(),
        *contract.fallbacks,
    ]
    known = "\n".join(
        [
            knowledge.request,
            *told,
            *map(render_leaf, list_leaves(contract.facts)),
            *(line.text for line in dialogue),
        ]
    )
    numbers, dates, codes = _particulars(known)
    said_numbers, said_dates, said_codes = _particulars(answer.text)
    new = {number for number in said_numbers - numbers if abs(number) > _SMALL}
    return bool(new or _unknown_dates(said_dates, dates) or said_codes - codes)


@lru_cache(256)
def _particulars(text: str) -> tuple[set[Decimal], set[tuple[int | None, int, int]], set[str]]:
    plain = normalise(text)
    numbers = {abs(one.value) for one in find_numbers(plain)}
    dates = {(one.year, one.month, one.day) for one in find_dates(plain)}
    codes = {code for code in _CODE.findall(plain) if not _ORDINAL.fullmatch(code)}
    return numbers, dates, codes - {_render(day) for day in dates}


def _render(day: tuple[int | None, int, int]) -> str:
    return date(*day).isoformat() if day[0] else ""  # pyright: ignore[reportArgumentType]  the year is there


def _unknown_dates(
    said: set[tuple[int | None, int, int]], known: set[tuple[int | None, int, int]]
) -> bool:
    """A year that either side leaves out is the one that is meant."""
    return any(
        not any(
            (year is None or other is None or year == other) and (month, day) == (m, d)
            for other, m, d in known
        )
        for year, month, day in said
    )


def repeats(knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer) -> bool:
    """The same long answer a third time, to agents' words that were not the same."""
    if (
        len(split_words(answer.text)) < _LEAST_WORDS
        or answer.text in knowledge.contract.fallbacks.values()
    ):
        return False
    before = [
        line.text
        for line, reply in pairwise(dialogue)
        if reply.who == "user" and normalise(reply.text) == normalise(answer.text)
    ]
    return len(before) >= _SAID_BEFORE and dialogue[-1].text not in before
