"""Resolves `that hive` in a request to the hive that was named last before it."""

import re
from collections.abc import Iterator, Mapping, Sequence

from envmill.agents.attackers.state_index import StateIndex
from envmill.toolgraph.words import split_name
from schemas.base import Json

_SHORTEST = 2
"""Length of the shortest name."""


def name_antecedents(sentences: Sequence[str], stock: StateIndex) -> list[str]:
    """The sentences, with a name added after each reference. References to nothing named stay as
    they are."""
    homes = {" ".join(split_name(name)): name for name in stock.rows}
    if not homes:
        return list(sentences)
    pointing = re.compile(
        r"\b(?:that|the same) "
        rf"({'|'.join(map(re.escape, sorted(homes, key=len, reverse=True)))})\b",
        re.IGNORECASE,
    )
    before, named = "", list[str]()
    for sentence in sentences:
        named.append(_name_all(sentence, before, pointing, homes, stock))
        before += f"{sentence} "
    return named


def _name_all(
    sentence: str,
    before: str,
    pointing: re.Pattern[str],
    homes: Mapping[str, str],
    stock: StateIndex,
) -> str:
    def name(found: re.Match[str]) -> str:
        meant = find_last(stock.rows[homes[found[1].lower()]], before + sentence[: found.start()])
        return f"{found[0]} {meant}".rstrip()

    return pointing.sub(name, sentence)


def find_last(rows: Mapping[str, Mapping[str, Json]], text: str) -> str:
    """The name of the row that the text mentions last; empty if it mentions none."""
    places = (
        (place.end(), name)
        for name in _list_names(rows)
        for place in re.finditer(rf"(?<!\w){re.escape(name)}(?!\w)", text)
    )
    return max(places, default=(0, ""))[1]


def _list_names(rows: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    """Texts that occur once in their column."""
    held = [
        (column, value)
        for row in rows.values()
        for column, value in row.items()
        if isinstance(value, str) and value not in rows
    ]
    yield from (
        value
        for column, value in held
        if len(value) >= _SHORTEST and held.count((column, value)) == 1
    )
