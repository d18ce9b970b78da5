"""Columns that may hold any text: no keys, references, dates or choices, and nothing that a rule or
the request speaks of."""

import re
from collections.abc import Iterator, Sequence

from envmill.language.dates import read_date
from envmill.language.words import find_words, normalise
from schemas.base import Json, is_object
from schemas.database import Table
from schemas.environment import Environment
from schemas.scenario import Draft

_CLOSED = re.compile(
    r"(?:^|_)(?:id|ids|key|code|number|status|state|type|kind|category|role|level|priority|"
    r"currency|email|phone|url|"
    r"date|day|month|year|time|at|on|from|until|till|due|since|by|to|name)$"
)
"""Names of columns whose texts mean one thing each."""


def is_pointer(tables: Sequence[Table], path: Sequence[str]) -> bool:
    """Whether a place holds a key or a reference."""
    table, _, name = path
    if name == "id" or name.endswith(("_id", "_ids")):
        return True
    known = next((one for one in tables if one.name == table), None)
    return known is not None and (
        name in known.key or any(one.name == name and one.references for one in known.columns)
    )


def is_open_text(
    draft: Draft, environment: Environment, path: Sequence[str], argument: str
) -> bool:
    """Whether a text that nobody asked for does no harm there."""
    table, _, name = path
    if _CLOSED.search(name) or _is_named(draft, environment, {name, argument}):
        return False
    held = [value for value in _list_column(draft.initial_state, table, name) if value]
    words = [value for value in held if " " in value.strip()]
    others = {
        normalise(value)
        for collection, value in _list_texts(draft.initial_state)
        if collection != table
    }
    single = [value for value in held if " " not in value.strip()]
    # One word that several rows share is a choice; a text that another table holds too refers to
    # it.
    return not (
        len(set(single)) < len(single)
        or len(single) > len(words)
        or any(read_date(value) is not None or normalise(value) in others for value in held)
    )


def _is_named(draft: Draft, environment: Environment, names: set[str]) -> bool:
    """Whether a rule, the policy document, the request or a fact speaks of the column."""
    facts = [f"{name} {value}" for name, value in draft.user.facts.items()]
    told = [fact.name for fact in draft.tell]
    text = normalise(
        "\n".join([*environment.rules, environment.policy_document, draft.request, *facts, *told])
    )
    forms = {
        form for name in names for form in (name.replace("_", " "), f"{name.replace('_', ' ')}s")
    }
    return any(find_words(text, form) for form in forms)


def _list_column(state: dict[str, Json], table: str, name: str) -> Iterator[str]:
    rows = state.get(table)
    for row in rows.values() if is_object(rows) else ():
        if is_object(row) and isinstance(value := row.get(name), str):
            yield value


def _list_texts(state: dict[str, Json]) -> Iterator[tuple[str, str]]:
    """(collection, text) of every text and key of every row."""
    for table, rows in state.items():
        for key, row in rows.items() if is_object(rows) else ():
            yield table, key
            yield from (
                (table, value)
                for value in (row.values() if is_object(row) else ())
                if isinstance(value, str) and value
            )
