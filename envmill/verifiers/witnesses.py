"""Merges facts about records that a refusal rests on. A rule that counts records makes their number
the reason, and no request asks for their texts.

two facts, each the text of a ticket ─┬─► one fact: "two … tickets", or all of their texts
a rule says "at most 2 … tickets" ────┘
"""

import re
from collections.abc import Sequence
from decimal import Decimal
from itertools import permutations

from envmill.language.numbers import find_numbers, is_same_number
from envmill.language.words import normalise
from envmill.verifiers.facts import communicates, is_given
from schemas.base import Json, is_object
from schemas.environment import Environment
from schemas.scenario import Draft, Fact

_MOST = 3
"""Maximal number of texts that may be said in any order: a pattern has at most 500 characters."""
_LONGEST = 400
_WORDS = {2: "two", 3: "three"}


def count_witnesses(draft: Draft, environment: Environment) -> list[Fact]:
    """The facts, with texts of records that a rule counts merged into one; unchanged if no rule
    counts them."""
    if draft.polarity != "refuse":
        return draft.tell
    told = [fact for fact in draft.tell if fact.kind == "text" and not fact.also]
    homes = {home for home in (_find_home(draft, fact.value) for fact in told) if home}
    for home in sorted(homes):
        group = [fact for fact in told if _find_home(draft, fact.value) == home]
        if not 2 <= len(group) <= _MOST or not _is_counted(environment.rules, home[0], len(group)):
            continue
        fact = _put_together(group, home[0])
        handed = is_given(fact, f"{draft.request}\n{environment.policy_document}")
        if len(str(fact.value)) <= _LONGEST and communicates(fact, draft.say) and not handed:
            return [fact, *(one for one in draft.tell if one not in group)]
    return draft.tell


def _find_home(draft: Draft, value: Json) -> tuple[str, str] | None:
    """(table, column) of the only row that contains the text, if the column is not a name."""
    found = [
        (table, name)
        for table, rows in draft.initial_state.items()
        for row in (rows.values() if is_object(rows) else ())
        for name, held in (row.items() if is_object(row) else ())
        if held == value
    ]
    return found[0] if len(found) == 1 else None


def _is_counted(rules: Sequence[str], table: str, many: int) -> bool:
    """Whether a rule names this number of rows of the table."""
    return any(
        re.search(_render_noun(table), text)
        and any(is_same_number(said, Decimal(many)) for said in find_numbers(text))
        for text in map(normalise, rules)
    )


def _put_together(group: Sequence[Fact], table: str) -> Fact:
    number = rf"\b(?:{len(group)}|{_WORDS[len(group)]})\b(?:\W+\w+){{0,4}}?\W+{_render_noun(table)}"
    orders = [
        "(?s:.*)".join(re.escape(str(fact.value)).replace("\\ ", " ") for fact in order)
        for order in permutations(group)
    ]
    rivals = list(dict.fromkeys(rival for fact in group for rival in fact.rivals))
    name = f"how many {table} stand against it, or which: {'; '.join(fact.name for fact in group)}"
    weight = sum(fact.weight for fact in group)
    return Fact(
        name=name,
        kind="pattern",
        value=f"(?i){'|'.join([number, *orders])}",
        rivals=rivals,
        weight=weight,
    )


def _render_noun(table: str) -> str:
    """The last word of a table's name, in singular and plural."""
    word = table.rpartition("_")[2]
    return rf"{re.escape(word.removesuffix('s'))}s?\b"
