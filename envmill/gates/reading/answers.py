"""Whether a fact to be told follows from the replies, or the question's words fit another value
better.

told value ─► candidate answers with that value ─┐
all candidate answers ───────────────────────────┴─► none gives it ─► underivable    for each a better one with another value ─► wrong
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from envmill.agents.attackers.state_index import StateIndex
from envmill.gates.base import GateContext, ScenarioCase
from envmill.gates.exploring.trials import Trials, list_writes
from envmill.gates.reading.candidate_answers import (
    CandidateAnswer,
    list_objects,
    list_readings,
    read_tables,
)
from envmill.gates.reading.given_values import has_hundredths
from envmill.gates.reading.known_values import (
    KnownValues,
    holds_words,
    list_leaves,
    list_told,
    read_day,
    read_part,
    read_plain_number,
)
from envmill.gates.reading.question import EMPTY, Question
from envmill.language.dates import read_date
from envmill.language.numbers import read_number
from envmill.language.words import find_words, normalise, split_words
from envmill.sandbox import Observation
from schemas.base import Json
from schemas.scenario import Fact

Standing = Literal["read", "unknown", "underivable", "outdone"]

_CENTS = re.compile(r"(?:^|_)cents?$")
"""Names of fields in cents."""
_MOST_WORDS = 0.6
"""Share of a text's words that replies must contain for the text to count as a summary of them."""
_PLAIN_ANSWERS = frozenset(["yes", "no"])
_DENIES = re.compile(
    r"\b(?:not|no|never|without|free (?:of|from)|longer|still|cannot|un\w+)\b|n't\b"
)
"""Words that turn the answer to a question into the opposite of what the record says."""
_YES_OR_NO = frozenset(["yes", "no", "true", "false", "none", "nothing"])


@dataclass(frozen=True)
class FactCheck:
    """One fact, and whether it follows from the replies."""

    fact: Fact
    standing: Standing
    how: str
    """What the fact follows from, or the better answer."""

    @property
    def words(self) -> str:
        told = f"the user is to be told {self.fact.value!r} ({self.fact.name})"
        if self.standing == "outdone":
            return f"{told}; by the words of the request it is {self.how}"
        return f"{told}, which no reply shows and no count, sum or extreme of what was read gives"

    def ask(self) -> str:
        """A neutral question. The answer yes means that the fact is wrong or does not follow."""
        if self.standing == "outdone":
            instead = self.how.partition(": ")[0]
            return (
                f"Asked for {self.fact.name!r} after these calls, is the right answer {instead} "
                f"rather than {self.fact.value!r}?"
            )
        return (
            f"After these calls, is there nothing that shows that {self.fact.value!r} is the "
            f"right answer to {self.fact.name!r}?"
        )

    def describe(self) -> Json:
        return {
            "fact": self.fact.name,
            "value": self.fact.value,
            "standing": self.standing,
            "how": self.how,
        }


async def judge_answers(subject: ScenarioCase, means: GateContext) -> list[FactCheck]:
    """Checks every fact that is a value. Patterns only ask for words."""
    facts = [fact for fact in subject.scenario.verifier.facts if fact.kind != "pattern"]
    if not facts or not subject.scenario.oracle:
        return []
    replies = (await Trials.of(subject, means).oracle())[0].replies
    stock = StateIndex.of(subject.scenario.initial_state)
    return [judge(fact, subject, replies, stock) for fact in facts]


def judge(
    fact: Fact, subject: ScenarioCase, replies: Sequence[Observation], stock: StateIndex
) -> FactCheck:
    question = Question.of(subject.scenario, fact)
    tables = read_tables(
        question, subject.scenario.oracle, [reply.parts for reply in replies], stock
    )
    readings = [one for one in list_readings(question, tables) if is_of_kind(fact, one.value)]
    given = [one for one in readings if is_same(fact, one.value)]
    if not given:
        if opposite := find_opposite(fact, find_sure(readings), question):
            return FactCheck(
                fact, "outdone", f"{opposite.value!r}: {opposite.what} of {opposite.where}"
            )
        if counts_new_rows(fact, subject, readings):
            return FactCheck(
                fact, "read", "a count of what was read and of what the path makes or takes away"
            )
        calculated = fact.kind != "text" and question.calculates(
            {name for table in tables for row in table.rows for name in row.fields}
        )
        return FactCheck(
            fact,
            "unknown"
            if calculated or may_follow(fact, question, replies, stock, subject)
            else "underivable",
            "",
        )
    others = find_sure([one for one in readings if not question.mark_value(one.value)])
    # A request for a change names no field to report. So only the row can be wrong, and not the
    # field.
    if subject.scenario.polarity != "answer":
        alike = {(one.what, one.table) for one in given}
        others = [one for one in others if (one.what, one.table) in alike]
    better = [find_better(one, others, question, fact) for one in given]
    if all(better):
        best = max((one for one in better if one), key=lambda one: one.words.bit_count())
        return FactCheck(
            fact,
            "outdone",
            f"{best.value!r}: {best.what} of {best.where}, which "
            f"{question.render_words(best.words)!r} speaks of",
        )
    kept = next(one for one, worse in zip(given, better, strict=True) if not worse)
    return FactCheck(fact, "read", f"{kept.what} of {kept.where}")


def find_opposite(
    fact: Fact, sure: Sequence[CandidateAnswer], question: Question
) -> CandidateAnswer | None:
    """The only requested field whose answer is yes instead of no, or no instead of yes; None if the
    question contains a negation."""
    if str(fact.value).casefold() not in _PLAIN_ANSWERS or _DENIES.search(question.text):
        return None
    found = [one for one in sure if one.own and str(one.value).casefold() in _PLAIN_ANSWERS]
    return found[0] if len(found) == 1 else None


def find_sure(readings: Iterable[CandidateAnswer]) -> list[CandidateAnswer]:
    """Candidates that share their words and operation with no other value."""
    values: dict[tuple[int, str], dict[str, CandidateAnswer]] = {}
    for one in readings:
        values.setdefault((one.words, one.what), {})[str(one.value).casefold()] = one
    return [next(iter(found.values())) for found in values.values() if len(found) == 1]


def find_better(
    given: CandidateAnswer, others: Iterable[CandidateAnswer], question: Question, fact: Fact
) -> CandidateAnswer | None:
    """A candidate with another value that accounts for all words of the given one, and for more
    words about the request or the same field."""
    for one in others:
        more = one.words & ~given.words
        if (
            more
            and not given.words & ~one.words
            and (one.what == given.what or one.own & more)
            and not is_same(fact, one.value)
            and (not question.is_plain(more) or question.is_label(more, one.table))
        ):
            return one
    return None


def is_of_kind(fact: Fact, value: Json) -> bool:
    """Whether the value has the type of the fact."""
    if fact.kind == "number":
        return read_plain_number(value) is not None
    return isinstance(value, str) and (fact.kind == "date") is bool(read_day(value))


def is_same(fact: Fact, value: Json) -> bool:
    """Whether the two values are equal. Texts may be parts of each other."""
    if fact.kind == "number":
        wanted, number = read_number(fact.value), read_plain_number(value)
        return wanted is not None and number is not None and _is_rounded(number, wanted)
    if fact.kind == "date":
        day = read_date(fact.value)
        return day is not None and read_day(value) == day.isoformat()
    wordings = [normalise(str(one)) for one in (fact.value, *fact.also)]
    return any(
        find_words(one, str(value)) or find_words(normalise(str(value)), one) for one in wordings
    )


def may_follow(
    fact: Fact,
    question: Question,
    replies: Sequence[Observation],
    stock: StateIndex,
    subject: ScenarioCase,
) -> bool:
    """Whether the fact may be known in another way: from a text, from a rule, or as a summary in
    own words."""
    scenario, year = subject.scenario, int(subject.scenario.clock[:4])
    heard = KnownValues(year)
    for reply in replies:
        heard.take([read_part(part) for part in reply.parts if part.get("type") != "json"])
        heard.read(reply.message)
    if heard.holds(fact.value) or is_shown_in_hundredths(fact, question, replies):
        return True
    if is_of_record(fact, question, stock) or scenario.polarity == "answer":
        words = split_words(str(fact.value))
        return fact.kind == "text" and (
            _YES_OR_NO.issuperset(words) or _is_own_summary(words, replies)
        )
    told = KnownValues.of(
        [*list_told(scenario), subject.environment.policy_document, *subject.environment.rules],
        year,
    )
    return fact.kind == "text" or told.holds(fact.value)


def counts_new_rows(fact: Fact, subject: ScenarioCase, counted: Sequence[CandidateAnswer]) -> bool:
    """Whether a count is right if the path's own changes are added: lists that were read earlier
    lack them."""
    number, changes = read_plain_number(fact.value), len(list_writes(subject))
    counts = [read_plain_number(one.value) for one in counted if one.what.startswith("count")]
    return number is not None and any(
        count is not None and 0 < abs(number - count) <= changes for count in counts
    )


def is_shown_in_hundredths(fact: Fact, question: Question, replies: Sequence[Observation]) -> bool:
    """Whether a reply has the amount in cents. The question must ask for euros, or the field must
    be one of cents and nothing be counted."""
    number = read_plain_number(fact.value)
    if number is None:
        return False
    parts = [read_part(part) for reply in replies for part in reply.parts]
    shown = {read_plain_number(leaf) for part in parts for leaf in list_leaves(part)}
    if number * 100 in shown and has_hundredths(f"{fact.name} {question.text}"):
        return True
    cents = {
        read_plain_number(value)
        for part in parts
        for _, row in list_objects(part, "")
        for name, value in row.items()
        if _CENTS.search(name)
    }
    return number * 100 in cents and not question.mark_operation("count")


def is_of_record(fact: Fact, question: Question, stock: StateIndex) -> bool:
    """Whether a record contains the value in a field that the question mentions."""
    named = [
        name
        for name, values in stock.fields.items()
        if any(is_same(fact, one) for one in values if is_of_kind(fact, one))
    ]
    return any(question.mark_name(name) for name in named)


def _is_own_summary(words: Sequence[str], replies: Sequence[Observation]) -> bool:
    """Whether the words are several, and most of them are in the replies."""
    shown = normalise(
        " ".join(
            str(leaf) for reply in replies for part in reply.parts for leaf in list_leaves(part)
        )
    )
    telling = [word for word in words if word not in EMPTY]
    return len(telling) > 1 and sum(
        holds_words(shown, word) for word in telling
    ) >= _MOST_WORDS * len(telling)


def _is_rounded(number: Decimal, wanted: Decimal) -> bool:
    """Whether the numbers are equal, or become equal when rounded to the wanted decimals."""
    exponent = wanted.as_tuple().exponent
    places = -exponent if isinstance(exponent, int) and exponent < 0 else 0
    return abs(number - wanted) < Decimal("0.000001") or (
        places > 0 and round(number, places) == wanted
    )
