"""The embedded author's policy in prose, and its reading of such a text: each clause's sentence in other words, and back."""

from schemas.dialogue_prompts import (
    PolicyProseInput,
    PolicyProseReply,
    PolicyReadingInput,
    PolicyReadingReply,
    StatedLine,
)

_WORDS = (
    ("Before the call ", "Before you turn to "),
    (", make the call ", ", see that you have used "),
    (", the user makes the call ", ", let the user go through "),
    ("ask the user and get a yes.", "put it to the user and wait for a yes."),
    ("When you make the call ", "Whenever you use "),
    ("Make the call ", "You use "),
    ("Never make the call ", "You never use "),
    ("Hand over with the call ", "You hand a case over with "),
    (" at the start", " when the conversation begins"),
)
_HEADING = "# Handbook"
_TOGETHER = 3
"""Sentences of a paragraph."""


def reword(sentence: str) -> str:
    """One clause as the handbook says it."""
    for plain, told in _WORDS:
        sentence = sentence.replace(plain, told)
    return sentence


def write_prose(asked: PolicyProseInput) -> PolicyProseReply:
    """The clauses in paragraphs."""
    said = [*map(reword, asked.statements.values())]
    parts = [" ".join(said[place : place + _TOGETHER]) for place in range(0, len(said), _TOGETHER)]
    return PolicyProseReply(document="\n\n".join([_HEADING, *parts]))


def read_prose(asked: PolicyReadingInput) -> PolicyReadingReply:
    """What it states is what it says in these words; the rest of it is said beyond."""
    left, stated = asked.document.replace(_HEADING, ""), list[StatedLine]()
    for number, statement in asked.statements.items():
        quote = reword(statement)
        found = quote in asked.document
        left = left.replace(quote, "")
        stated.append(StatedLine(number=number, stated=found, quote=quote if found else ""))
    beyond = [line.strip() for line in left.splitlines() if line.strip()]
    return PolicyReadingReply(stated=stated, beyond=beyond)
