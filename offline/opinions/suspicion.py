"""An answer about a suspicion: what can be told from the texts alone."""

import re
from collections.abc import Iterator

from offline.opinions.mapping import count_shared
from schemas.base import Json, canonical_json, is_object
from schemas.suspicion import SuspicionInput, SuspicionReply

_MAPPED = re.compile(
    r"(?:fulfilled to the letter: (?P<demand>.+)$)|(?:Do the words (?P<words>'.*?'|\".*?\") of "
    r"the request "
    r"(?:wish .* still hold: (?P<listed>.+)|tell (?P<way>.*))$)",
    re.DOTALL,
)
_QUOTED = re.compile(r'"([^"]{3,})"')


def answer_suspicion(asked: SuspicionInput) -> SuspicionReply:
    """Yes where words that question and request share fit several rows; no about anything else. The
    default of the reading is not used."""
    if mapped := _MAPPED.search(asked.question):
        return _answer_mapped(asked, mapped)
    for words in _QUOTED.findall(asked.question):
        fitting = [
            row
            for row in _list_rows(asked.rows)
            if words.casefold() in canonical_json(row).casefold()
        ]
        if len(fitting) > 1 and words.casefold() in asked.request.casefold():
            return SuspicionReply(
                answer="yes", quotes=[words], reason=f"{len(fitting)} rows hold these words."
            )
    return SuspicionReply(
        answer="no",
        quotes=[asked.request or asked.name],
        reason="One reading of these words is the plain one.",
    )


def _answer_mapped(asked: SuspicionInput, mapped: re.Match[str]) -> SuspicionReply:
    """Questions about a map: yes where two texts have no word in common, or words name a tool or a
    parameter."""
    quote = asked.request or asked.name
    if mapped["demand"]:
        texts = [asked.request, asked.policy, *asked.rules, *asked.told]
        unfair, why = (
            not any(count_shared(mapped["demand"], text) for text in texts),
            "Whether a text has a word of the demand.",
        )
    elif mapped["listed"]:
        unfair, why = (
            not count_shared(mapped["words"], mapped["listed"]),
            "Whether a demand has a word of the wish.",
        )
    else:
        unfair, why = (
            bool(re.search(r"\w_\w", mapped["words"])),
            "Whether the words name a tool or a parameter.",
        )
    return SuspicionReply(answer="yes" if unfair else "no", quotes=[quote], reason=why)


def _list_rows(rows: Json) -> Iterator[Json]:
    for held in rows.values() if is_object(rows) else ():
        yield from held.values() if is_object(held) else ()
