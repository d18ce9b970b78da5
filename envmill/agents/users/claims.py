"""What a user's own words show of them, beside the contract: words of the other side, everything at
once, a deed that was never made.

answer ─┬─ marks of a protocol, a call written out ─► impersonates
        ├─ all that is hidden, to a message that asks nothing ─► reveals
        ├─ "it is done", and the deed was not made ─► a claim, which the end of the conversation settles
        └─ "it is done", and the deed was refused ─► a sentence that is left out, since what came of it is told
"""

import re
from collections.abc import Collection, Sequence

from envmill.agents.users.base import UserAnswer, UserKnowledge, Utterance
from envmill.agents.users.doing import find_deeds
from envmill.agents.users.hearing import understand
from envmill.agents.users.missteps import states_value
from envmill.agents.users.naming import split_stems
from envmill.agents.users.scripted import TALKATIVE
from envmill.language.told import list_leaves, render_leaf
from envmill.language.words import normalise

_MARKS = re.compile(
    r"<\|[^|<>\s]{1,40}\|>|</?(?:tool_call|tool_calls|tool_response|function_call|function_calls|"
    r"invoke|system|assistant|think)\b[^<>]{0,200}>|"
    r"\[/?(?:INST|TOOL_CALLS|AVAILABLE_TOOLS)\]|<</?SYS>>|#{3}[A-Z][A-Z_-]{2,30}#{3}|"
    r"^[ \t]*(?:assistant|agent|system|tool)[ \t]*:|\{\s*\"(?:name|tool|function|arguments)\"\s*:",
    re.IGNORECASE | re.MULTILINE,
)
"""Marks of a chat template, of a protocol between programs, and of the other speaker's line."""
_CLAIMS = re.compile(
    r"\b(?:done|finished)\b|\b(?:i|we) (?:have |just |now |already )*(?:did|set|put|took|"
    r"\w{3,}ed)\b|"
    r"\bi've (?:just |now |already )?\w+"
)
_DENIES = re.compile(
    r"\b(?:not|cannot|never|unable|before i|once i|if i|when i|after i|should i|shall i|until i|"
    r"will|going to|about to)\b|n't\b|\?|'ll\b"
)
_DID = re.compile(
    r"^(?:(?:ok|okay|all right|right|there|well|so|and|now|just|i|we|have)\b,? ?)*(?:\w{3,}ed|did)\b"
)
"""A report that names nobody: "Pressed the button"."""
_SENTENCES = re.compile(r"(?<=[.!?])\s+")
_BARE = 2
"""Words of a sentence that calls everything done: "All done"."""
_LEAST = 2
"""Hidden facts that are given away at once. One alone may answer a question that the word checks do
not know."""


def find_marks(knowledge: UserKnowledge, answer: UserAnswer) -> str:
    """Words of the other side in an answer; empty where there are none, or where the contract
    itself has them."""
    contract = knowledge.contract
    told = "\n".join(
        [
            knowledge.request,
            contract.opening,
            *contract.goals,
            *map(render_leaf, list_leaves(contract.facts)),
        ]
    )
    return next(
        (
            mark
            for mark in (found[0].strip() for found in _MARKS.finditer(answer.text))
            if mark not in told
        ),
        "",
    )


def gives_all_away(
    knowledge: UserKnowledge, dialogue: Sequence[Utterance], answer: UserAnswer
) -> bool:
    """Whether everything hidden is told at once to an agent who had asked nothing so far."""
    contract = knowledge.contract
    hidden = [contract.facts[name] for name in contract.hidden if name in contract.facts]
    asked = [line.text for line in dialogue if line.who == "agent"]
    if len(hidden) < _LEAST or TALKATIVE.search(normalise(contract.persona)):
        return False
    if any("?" in text or understand(text, contract).asks for text in asked):
        return False
    before = "\n".join(line.text for line in dialogue)
    return all(
        states_value(value, answer.text) and not states_value(value, before) for value in hidden
    )


def find_claimed(
    knowledge: UserKnowledge,
    dialogue: Sequence[Utterance],
    answer: UserAnswer,
    done: Collection[str],
) -> list[str]:
    """Deeds that the agent's last message bids, and that the answer calls done without making
    them."""
    bidden = [
        name
        for name in find_deeds(dialogue[-1].text, knowledge.deeds)
        if name not in answer.does and name not in done
    ]
    plain = normalise(answer.text)
    return bidden if _CLAIMS.search(plain) and not _DENIES.search(plain) else []


def drop_claims(
    knowledge: UserKnowledge, text: str, refused: Collection[str], made: Collection[str]
) -> str:
    """The words without each sentence that calls a deed done that was refused. A sentence that
    tells a value stays, and so does one that is about a deed that was made."""
    if not refused:
        return text
    facts = knowledge.contract.facts.values()

    def is_false(sentence: str) -> bool:
        plain = normalise(sentence)
        claims = (_CLAIMS.search(plain) or _DID.search(plain)) and not _DENIES.search(plain)
        if not claims or any(states_value(value, sentence) for value in facts):
            return False
        words = _list_long(sentence)
        about = any(words & _list_long(name) for name in refused)
        others = any(words & _list_long(name) for name in made)
        return (about and not others) or (not made and len(words) <= _BARE)

    return " ".join(one for one in _SENTENCES.split(text) if not is_false(one))


def _list_long(text: str) -> set[str]:
    return {word for word in split_stems(text) if len(word) > 2}
