"""An answer about a suspicion: what can be told from the texts alone."""

import re
from collections.abc import Iterator

from schemas.base import Json, canonical_json, is_object
from schemas.suspicion import SuspicionInput, SuspicionReply

_QUOTED = re.compile(r'"([^"]{3,})"')


def answer_suspicion(asked: SuspicionInput) -> SuspicionReply:
    """Yes where words that question and request share fit several rows; no about anything else. The default of the reading is not used."""
    for words in _QUOTED.findall(asked.question):
        fitting = [row for row in _list_rows(asked.rows) if words.casefold() in canonical_json(row).casefold()]
        if len(fitting) > 1 and words.casefold() in asked.request.casefold():
            return SuspicionReply(answer="yes", quotes=[words], reason=f"{len(fitting)} rows hold these words.")
    return SuspicionReply(answer="no", quotes=[asked.request or asked.name], reason="One reading of these words is the plain one.")


def _list_rows(rows: Json) -> Iterator[Json]:
    for held in rows.values() if is_object(rows) else ():
        yield from held.values() if is_object(held) else ()
