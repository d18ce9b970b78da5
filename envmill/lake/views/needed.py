"""Which tables and views a question needs: a database is made of those alone, since making all
takes as long as most answers.

Words stand in for a parser: a question writes out each name it uses, and a name too many costs
half a millisecond.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from envmill.lake.views.base import View
from schemas.tables import TABLES

_WORD = re.compile(r"\w+")
_CATALOG = re.compile(
    r"\b(show|describe|desc|summarize|information_schema|sqlite_\w+|pragma\w*|duckdb_\w+|pg_\w+)\b"
)
"""What asks the database about itself has to find everything."""


@dataclass(frozen=True)
class Needed:
    """Names of tables and views."""

    named: frozenset[str]
    """Those the question itself writes out."""
    below: frozenset[str]
    """With those that the named ones stand on."""


def find_needed(question: str, views: Mapping[str, View]) -> Needed:
    """All there is when no question is given, or none of its words is known: an error then still
    proposes names."""
    known = TABLES.keys() | views.keys()
    named = _find_known(question, known)
    if not named or _CATALOG.search(question.lower()):
        return Needed(frozenset(known), frozenset(known))
    return Needed(named, frozenset(_descend(named, views, known)))


def _descend(
    names: Collection[str], views: Mapping[str, View], known: Collection[str]
) -> Iterator[str]:
    waiting, seen = [*names], set[str]()
    while waiting:
        if (name := waiting.pop()) not in seen:
            seen.add(name)
            yield name
            waiting.extend(_find_known(views[name].sql, known) if name in views else ())


def _find_known(text: str, known: Collection[str]) -> frozenset[str]:
    """DuckDB's names do not tell capitals from small letters."""
    return frozenset(_WORD.findall(text.lower())).intersection(known)
