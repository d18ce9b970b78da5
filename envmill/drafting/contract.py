"""The user contract of a reply, held to itself: what is hidden is known, untold at first, and no other than what the request says."""

import re
from collections.abc import Iterator
from datetime import date

from envmill.verifiers.dates import find_dates, is_same_date, read_date
from envmill.verifiers.numbers import find_numbers, is_same_number, read_number
from envmill.verifiers.words import normalise
from schemas.base import Json
from schemas.prompts import ScenarioReply
from schemas.scenario import UserContract

_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_WORD = re.compile(r"[^\W_]{3,}")


def make_contract(reply: ScenarioReply) -> UserContract:
    """Where nothing is hidden the whole request opens the conversation."""
    return UserContract(
        opening=reply.opening if reply.hidden else reply.request,
        facts=reply.facts,
        persona=reply.persona,
        goals=reply.goals,
        hidden=reply.hidden,
        fallbacks=reply.fallbacks,
        stop=reply.stop,
    )


def find_contract_faults(reply: ScenarioReply) -> Iterator[tuple[str, str]]:
    """(reason code, words) of everything that keeps the person from a conversation that ends where the request does."""
    if unknown := [name for name in reply.hidden if name not in reply.facts]:
        yield "user_lacks_fact", f"`hidden` names {unknown}, which `facts` does not hold: nobody could ever be told"
    if reply.hidden and not reply.opening.strip():
        yield "no_opening", f"`hidden` names {reply.hidden}, and there is no `opening` that leaves them out"
    for name in (name for name in reply.hidden if name in reply.facts):
        value = reply.facts[name]
        if is_told(value, reply.opening):
            yield "opening_tells", f"the opening already says {name!r} ({value!r}), which `hidden` says is told only when asked"
        if _is_exact(value) and not is_told(value, reply.request):
            yield "user_contradicts", f"the request does not say {name!r} as {value!r}, which the person would answer when asked"


def is_told(value: Json, text: str) -> bool:
    """Whether a text says a value: a number or a date in any spelling, of anything else every word that carries it."""
    plain = normalise(text)
    if (day := _read_day(value)) is not None:
        return any(is_same_date(said, day) for said in find_dates(plain))
    if isinstance(value, int | float) and (number := read_number(value)) is not None:
        return any(is_same_number(said, number) for said in find_numbers(plain))
    words = _WORD.findall(normalise(str(value)))
    return bool(words) and set(words) <= set(_WORD.findall(plain))


def _is_exact(value: Json) -> bool:
    return isinstance(value, int | float) or _read_day(value) is not None


def _read_day(value: Json) -> date | None:
    return read_date(value) if isinstance(value, str) and _DAY.fullmatch(value) else None
