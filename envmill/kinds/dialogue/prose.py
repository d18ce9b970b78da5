"""A policy in prose, held to its clauses: values by code, meaning by a second reading of the text.

prose ─┬─ tools, numbers, values of each clause ─► there? any other tool or number? ─► faults
       └─ statements, some of them false, in mixed order ─► reader ─► stated, with a quotation? said beyond? ─► faults
"""

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from envmill.kinds.dialogue.wording import YES, render_clause
from envmill.language.words import find_words, normalise
from schemas.dialogue import PolicyClause
from schemas.dialogue_prompts import PolicyReadingReply

_FALSE = 3
"""False statements that a reader has to tell apart from the clauses."""
_LISTED = re.compile(
    r"^\s*(?:#+\s*(?:\d+(?:\.\d+)*[.)]?\s+)?|[-*]\s+|\d+(?:\.\d+)*[.)]\s+)", re.MULTILINE
)
"""Marks of headings and lists, whose numbers are nothing that a clause says."""
_NUMBER = re.compile(r"(?<![\w.])\d(?:[\w.:,/-]*\w)?")
_NAME = re.compile(r"\b[a-z][a-z0-9]*(?:_[a-z0-9]+)+\b|(?<=`)[a-z][a-z0-9_]*(?=`)")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)+)"')


@dataclass(frozen=True)
class PolicyExam:
    """What a reader of the prose is asked: statements by number, and which of them no clause says."""

    statements: Mapping[str, str]
    clauses: Mapping[str, str]
    """Number → clause; the others are false."""


def list_statements(clauses: Sequence[PolicyClause]) -> dict[str, str]:
    """Clause → what the policy document says of it; and what counts as a yes."""
    said = {clause.id: render_clause(clause) for clause in clauses}
    return said | ({"yes": YES} if any(one.effect == "confirm" for one in clauses) else {})


def find_prose_faults(document: str, clauses: Sequence[PolicyClause]) -> list[str]:
    """Names and values of a clause that the prose lacks, and those of no clause that it has."""
    statements = list_statements(clauses)
    plain, text = normalise(document), _LISTED.sub("", document)
    faults = [
        f"The document does not name {value!r}, which clause {name} does: {said!r}"
        for name, said in statements.items()
        for value in _list_values(said)
        if not find_words(plain, value)
    ]
    known = {value for said in statements.values() for value in _list_values(said)}
    known |= {name for said in statements.values() for name in _NAME.findall(said)}
    stray = dict.fromkeys([*_NUMBER.findall(text), *_NAME.findall(text)])
    faults += [
        f"The document names {value!r}, which no clause does."
        for value in stray
        if value not in known
    ]
    return faults


def write_exam(clauses: Sequence[PolicyClause], seed: str) -> PolicyExam:
    """The same seed mixes the statements alike."""
    dice = random.Random(seed)
    said = list_statements(clauses)
    false = [one for one in _list_false(clauses) if one not in said.values()]
    mixed = [*said.items(), *(("", one) for one in dice.sample(false, min(_FALSE, len(false))))]
    dice.shuffle(mixed)
    numbered = {str(place): one for place, one in enumerate(mixed, 1)}
    return PolicyExam(
        {number: one for number, (_, one) in numbered.items()},
        {number: name for number, (name, _) in numbered.items() if name},
    )


def find_reading_faults(document: str, exam: PolicyExam, reading: PolicyReadingReply) -> list[str]:
    """What the reader did not find, and what they found beyond. A quotation that is not in the text
    shows nothing; who finds a false statement as well has read nothing, or the text says it."""
    plain = normalise(document)

    def is_there(quote: str) -> bool:
        return bool(normalise(quote).strip()) and normalise(quote).strip(" .") in plain

    found = {one.number for one in reading.stated if one.stated and is_there(one.quote)}
    faults = [
        f"A reader of the document did not find clause {name}: {exam.statements[number]!r}"
        for number, name in exam.clauses.items()
        if number not in found
    ]
    faults += [
        f"A reader of the document found what no clause says: {said!r}"
        for number, said in exam.statements.items()
        if number in found and number not in exam.clauses
    ]
    return faults + [
        f"The document says what no clause says: {quote!r}"
        for quote in reading.beyond
        if is_there(quote)
    ]


def _list_values(sentence: str) -> list[str]:
    """Tools, texts in quotation marks and numbers of a clause's sentence."""
    bare = _QUOTED.sub(" ", sentence)
    names = [name for name in re.findall(r"`([^`]+)`", sentence)]
    return list(dict.fromkeys([*names, *_QUOTED.findall(sentence), *_NUMBER.findall(bare)]))


def _list_false(clauses: Sequence[PolicyClause]) -> Iterator[str]:
    """Statements that would bind the agent otherwise than a clause does, in the same words."""
    for clause in clauses:
        if clause.effect == "first" and clause.first:
            turned = clause.model_copy(
                update={
                    "call": clause.first.model_copy(update={"actor": "agent"}),
                    "first": clause.call,
                }
            )
            yield render_clause(turned)
        elif clause.effect == "confirm":
            yield f"Make the call `{clause.call.name}` at once, without a question to the user."
        elif clause.effect == "forbid":
            yield render_clause(clause.model_copy(update={"effect": "allow"}))
        elif clause.effect == "hand_over":
            yield f"Hand over with the call `{clause.call.name}` whenever the user asks for it."
        elif clause.effect == "say":
            yield f"When you make the call `{clause.call.name}`, tell the user nothing of it."
        else:
            yield render_clause(clause.model_copy(update={"effect": "forbid"}))
