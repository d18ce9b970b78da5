"""Finds the rows that the last words of a reference path rest on. They become predicates, which an
agent can fulfil by any other route to the same rows.

replies ──► rows of the state they show ──► rows that the facts rest on ──► `seen`: one reply holds the row's key and the value
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from envmill.language.numbers import read_number
from envmill.language.told import list_leaves, render_leaf
from envmill.language.words import count_letters, find_words, normalise
from envmill.verifiers.ending import CompletedCall
from envmill.verifiers.facts import is_given
from schemas.base import Json, is_array, is_object
from schemas.environment import Call
from schemas.scenario import CallPattern, Fact, Predicate

_LEAST_AGREEMENT = 2
"""Number of fields in which a reply and a row must agree to be matched."""
_MOST_ROWS = 12
"""Maximal number of required rows of one reply, if none mattered more than the others."""
_LEAST_LETTERS = 3
"""Minimal length of a row's text that is searched for in a sentence."""
_ESCAPE = re.compile(r"\\[A-Za-z]")


@dataclass(frozen=True)
class _Row:
    collection: str
    key: str
    fields: Mapping[str, Json]
    keyed: bool
    """Whether the reply shows the key."""
    told: Mapping[str, Json]
    """Plain values of the reply's object, including those of other rows."""
    place: int = 0
    """Number of the look-up that returned it."""

    @property
    def name(self) -> str:
        return f"{self.collection}.{self.key}"

    @property
    def values(self) -> list[Json]:
        return [*self.told.values(), *([self.key] if self.keyed else [])]


@dataclass(frozen=True)
class KnownWords:
    """Texts of the reference path and its request."""

    request: str
    say: str


def derive_knowledge(
    state: Mapping[str, Json],
    deeds: Sequence[CompletedCall],
    reads: Collection[str],
    facts: Sequence[Fact],
    words: KnownWords,
) -> list[Predicate]:
    """Predicates for the rows that a fact rests on: an agent must have seen them. If no fact rests
    on a row, the rows that the last words name are required. If they name none, the rows that the
    request names; else all rows that mattered to the path. If no reply shows a row, the last read
    itself is required, because only that read shows that something does not exist."""
    looked = [deed for deed in deeds if deed.outcome == "ok" and deed.call.name in reads]
    rows = [
        replace(row, place=place)
        for place, deed in enumerate(looked)
        for row in _find_rows(state, deed)
    ]
    used = {leaf for deed in deeds for leaf in _list_values(deed.call)}
    rested = [
        (row, value)
        for fact in facts
        for row, value in _find_rests(fact, rows, used, words.request)
    ]
    if not rested:
        mattered = [
            row
            for place, deed in enumerate(deeds)
            if deed in looked
            for row in _pick(state, deed, deeds[place + 1 :])
        ]
        named = (_find_named(mattered, text) for text in (words.say, words.request))
        rested = [(row, None) for row in next(filter(None, named), mattered)]
    return _ask_for(rested) or [_require(deed.call) for deed in looked[-1:]]


def _find_rests(
    fact: Fact, rows: Sequence[_Row], used: Collection[Json], request: str
) -> list[tuple[_Row, Json]]:
    """Rows that a fact rests on, each with the value. A row contains the fact's value, or else a
    text that the fact quotes, or else another wording of the fact."""
    plain = fact.model_copy(update={"also": []})
    others = [
        fact.model_copy(update={"kind": "text", "value": wording, "also": []})
        for wording in fact.also
    ]
    quoted = _ESCAPE.sub(" ", str(fact.value)) if fact.kind in ("text", "pattern") else ""
    held = [(row, value) for row in rows for value in row.values]
    found = (
        [pair for pair in held if _is_value(plain, pair[1])]
        or [pair for pair in held if _is_named(pair[1], quoted)]
        or [pair for pair in held if any(_is_value(other, pair[1]) for other in others)]
    )
    meant = [pair for pair in found if pair[0].key in used or _find_named([pair[0]], request)]
    # An agent that has read the value once need not read it again elsewhere. Later replies may
    # contain the same value by chance.
    return meant or [pair for pair in found if pair[0].place == found[0][0].place]


def _is_value(fact: Fact, value: Json) -> bool:
    """Whether a field of a reply contains what must be told."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return False
    if fact.kind == "number":
        plain = not isinstance(value, str) or not any(map(str.isalpha, value))
        return plain and read_number(value) == read_number(fact.value)
    return is_given(fact, render_leaf(value))


def _find_named(rows: Sequence[_Row], text: str) -> list[_Row]:
    """Rows whose key or text a text contains."""
    return [
        row
        for row in rows
        if any(_is_named(value, text) for value in (row.key, *row.fields.values()))
    ]


def _is_named(value: Json, text: str) -> bool:
    return (
        isinstance(value, str)
        and count_letters(value) >= _LEAST_LETTERS
        and bool(find_words(normalise(text), value))
    )


def _pick(
    state: Mapping[str, Json], deed: CompletedCall, after: Sequence[CompletedCall]
) -> list[_Row]:
    """The only row of a reply; or rows that were used later; or, if arguments selected the rows,
    all of them."""
    rows, later = (
        list(_find_rows(state, deed)),
        {leaf for one in after for leaf in _list_values(one.call)},
    )
    if len(rows) <= 1:
        return rows
    return [row for row in rows if row.key in later] or (
        rows if deed.call.arguments and len(rows) <= _MOST_ROWS else []
    )


def _ask_for(rested: Sequence[tuple[_Row, Json]]) -> list[Predicate]:
    """One predicate for each row, with the look-up that first returned it and the values that must
    be told."""
    asked: dict[str, Predicate] = {}
    for row, value in rested:
        known: list[Json] = [row.key] if row.keyed else list(row.fields.values())
        first = asked.get(row.name) or Predicate(
            name=f"{row.name} was looked at", op="seen", call=CallPattern(name=""), shows=known
        )
        more = [value] if value is not None and value not in first.shows else []
        asked[row.name] = first.model_copy(update={"shows": [*first.shows, *more]})
    return list(asked.values())


def _require(call: Call) -> Predicate:
    return Predicate(
        name=f"{call.name} was asked",
        op="required",
        call=CallPattern(name=call.name, arguments=call.arguments),
    )


def _find_rows(state: Mapping[str, Json], deed: CompletedCall) -> Iterator[_Row]:
    """Rows of the state that a reply returns, each once."""
    found: set[str] = set()
    for part in deed.parts:
        for key, told in _list_objects(part.get("value") if is_object(part) else part, ""):
            row = _recognise(state, key, told)
            if row is not None and row.name not in found:
                found.add(row.name)
                yield row


def _recognise(state: Mapping[str, Json], key: str, told: Mapping[str, Json]) -> _Row | None:
    """The row that agrees best with an object of a reply. A row whose key the object shows is
    preferred."""
    plain = {
        name: value for name, value in told.items() if not is_object(value) and not is_array(value)
    }
    shown = {key, *(value for value in plain.values() if isinstance(value, str))}
    rows = [
        (name, row_id, row)
        for name, rows in state.items()
        if is_object(rows)
        for row_id, row in rows.items()
        if is_object(row)
    ]
    best = max(
        (_match(*row, plain, shown) for row in rows),
        key=lambda one: (one.keyed, len(one.fields)),
        default=None,
    )
    return (
        best
        if best is not None and len(best.fields) >= min(_LEAST_AGREEMENT, len(plain)) > 0
        else None
    )


def _match(
    collection: str,
    key: str,
    row: Mapping[str, Json],
    plain: Mapping[str, Json],
    shown: Collection[str],
) -> _Row:
    agreed = {
        name: value
        for name, value in plain.items()
        if name in row and row[name] == value and value is not None
    }
    # A foreign key shows another row's key, and nothing of that row.
    return _Row(
        collection,
        key,
        agreed,
        key in shown and len(agreed) >= min(_LEAST_AGREEMENT, len(plain)),
        plain,
    )


def _list_objects(value: Json, key: str) -> Iterator[tuple[str, Mapping[str, Json]]]:
    """Objects of a reply, each with the key under which it is stored."""
    if is_object(value):
        yield key, value
        for name, inner in value.items():
            yield from _list_objects(inner, name)
    elif is_array(value):
        for inner in value:
            yield from _list_objects(inner, "")


def _list_values(call: Call) -> Iterator[Json]:
    return (leaf for leaf in list_leaves(call.arguments) if isinstance(leaf, str | int | float))
