"""What a user does with tools of their own: the calls of a reference path that only they may make,
asked for by what the tool is called.

oracle ─► calls of other actors than the agent ─► name → call        message ─► sentences that bid somebody do something ─► names
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Protocol

from envmill.agents.users.hearing import list_sentences
from envmill.agents.users.naming import ORDINALS, hold_all, split_stems
from envmill.language.told import render_leaf
from envmill.language.words import find_words, normalise
from schemas.base import Json, is_object
from schemas.environment import Call
from schemas.scenario import Scenario, UserContract

_BIDS = re.compile(
    r"\b(?:could|can|would|will) you\b|\bplease\b|\byourself\b|\byou (?:need|have) to\b|\bneed "
    r"you to\b"
)
_WONDERS = re.compile(
    r"\b(?:tell|which|what|who|whom|when|where|how|whether|shall i|should i|may i|do you want)\b"
)
"""A sentence that has to do with a deed, and asks for words."""
_NUMBER = re.compile(r" (\d+)$")
_CODE = re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[a-z])[\w-]{3,}(?![\w-])")
"""What a record is known by, where that is no name."""


class SeenReply(Protocol):
    """What came of a call. Exported folders carry this file without a sandbox."""

    @property
    def outcome(self) -> str: ...
    @property
    def message(self) -> str: ...
    @property
    def parts(self) -> Sequence[Json]: ...


def needs_user(scenario: Scenario) -> bool:
    """Whether a user has to be there: somebody else than the agent acts, is asked before a call, or
    makes one request after the other."""
    return bool(scenario.user.later) or any(
        call.actor != "agent" or call.asks for call in scenario.oracle
    )


def list_deeds(oracle: Sequence[Call], able: Sequence[Call] = ()) -> dict[str, Call]:
    """Name → call, in the order of the path, then what they are able to do besides. Those of one
    tool bear numbers from the second on."""
    seen, deeds = Counter[str](), dict[str, Call]()
    for call in (one for one in (*oracle, *able) if one.actor != "agent"):
        seen[call.name] += 1
        plain = call.name.replace("_", " ")
        deeds[plain if seen[call.name] == 1 else f"{plain} {seen[call.name]}"] = call
    return deeds


def find_deeds(message: str, deeds: Mapping[str, Call]) -> tuple[str, ...]:
    """What a message bids the user do. Of several by one tool all are meant, unless the sentence
    counts them."""
    found = dict.fromkeys(
        name for words in _list_biddings(message) for name in deeds if _is_meant(name, words, deeds)
    )
    return tuple(found)


def find_strange(message: str, deeds: Mapping[str, Call], known: str) -> str:
    """A code that a bidding names and that is neither in a deed nor in what the user knows: another
    record than they mean."""
    mine = {
        code
        for text in (
            known,
            *(str(value) for deed in deeds.values() for value in deed.arguments.values()),
        )
        for code in _list_codes(text)
    }
    biddings = (sentence for sentence in list_sentences(message) if _bids(sentence))
    return next(
        (code for sentence in biddings for code in _list_codes(sentence) if code not in mine), ""
    )


def find_lacking(name: str, call: Call, contract: UserContract, told: Sequence[str]) -> str:
    """What the user says instead of doing it, where a value that they need was not named by the
    agent; empty where they can do it."""
    plain = normalise("\n".join(told))
    needed = [one for one in contract.needs.get(name, ()) if one in call.arguments]
    lacking = [one for one in needed if not find_words(plain, render_leaf(call.arguments[one]))]
    return (
        f"I do not know which {' and '.join(lacking).replace('_', ' ')} I need to {name}."
        if lacking
        else ""
    )


def turn_down(code: str) -> str:
    """What the user says where the agent names another record than theirs."""
    return f"{code.upper()} is not the one I mean."


def describe_reading(name: str, parts: Sequence[Json]) -> str:
    """What the user reads out of a reply to a call of their own. Exported folders render it in
    the same way (`envrun/episode.py`)."""
    values = [part.get("value", part.get("text")) for part in parts]
    said = "; ".join(
        ", ".join(f"{key.replace('_', ' ')} {_word(one)}" for key, one in value.items())
        for value in values
        if is_object(value)
    )
    return f"I have done it: {name}. It says: {said}." if said else describe_outcome(name, True, "")


def describe_outcome(name: str, did: bool, message: str) -> str:
    """What the user says of it: the agent sees no reply to a call that is not its own."""
    return f"I have done it: {name}." if did else f"I tried ({name}), and it was refused: {message}"


def describe_deed(name: str, call: Call, reply: SeenReply | None, reports: Collection[str]) -> str:
    """What the user says of a deed: what came of it, what they read, or that it was done before."""
    if reply is None:
        return describe_again(name)
    if reply.outcome == "ok" and call.name in reports:
        return describe_reading(name, reply.parts)
    return describe_outcome(name, reply.outcome == "ok", reply.message)


def describe_again(name: str) -> str:
    """What the user says when asked for what took effect before."""
    return f"I had done that already: {name}."


def bid(name: str, deeds: Mapping[str, Call], needs: Sequence[str] = ()) -> str:
    """How a user is asked for it; values that they need are named."""
    place = _place(name, deeds)
    counted = f" for the {ORDINALS[place - 1]} time" if place and place <= len(ORDINALS) else ""
    values = [render_leaf(deeds[name].arguments[one]) for one in needs]
    named = f" with {' and '.join(values)}" if values else ""
    return (
        f"Only you can do this: could you please {_NUMBER.sub('', name)} yourself{counted}{named}?"
    )


def _word(value: Json) -> str:
    return "yes" if value is True else "no" if value is False else str(value)


def _list_biddings(message: str) -> Iterator[frozenset[str]]:
    for sentence in list_sentences(message):
        if _bids(sentence):
            yield frozenset(split_stems(sentence))


def _bids(sentence: str) -> bool:
    return bool(_BIDS.search(sentence)) and not _WONDERS.search(sentence)


def _list_codes(text: str) -> list[str]:
    return _CODE.findall(normalise(text))


def _is_meant(name: str, words: frozenset[str], deeds: Mapping[str, Call]) -> bool:
    counted, place = words & {str(one) for one in range(1, len(ORDINALS) + 1)}, _place(name, deeds)
    return hold_all(_NUMBER.sub("", name), words) and (
        not counted or not place or str(place) in counted
    )


def _place(name: str, deeds: Mapping[str, Call]) -> int:
    """Which of its tool's it is; 0 for the only one."""
    if numbered := _NUMBER.search(name):
        return int(numbered[1])
    return 1 if f"{name} 2" in deeds else 0
