"""A map between a request and its demands, from shared words alone: the sentence that shares most
with a demand asks for it."""

import re
from collections.abc import Iterator, Sequence

from schemas.fairness import DemandSource, Hint, MapperInput, MapperReply, Wish

_SENTENCE = re.compile(r"[^.!?;\n]+(?:\.(?=\d)[^.!?;\n]+)*")
_WORD = re.compile(r"[^\W_]{2,}")
_PLAIN = frozenset(
    re.findall(
        r"\w+",
        """
        a an and any are at be but by for from has have her him his in into is it its me my no not of
        on or our please she he so than thank thanks that the their them there this to us was we were with you your row new
        holds hold anything start agent tells user message last told name status true false can could would will all
        """,
    )
)
_WISHES = re.compile(
    r"(?i)\b(?:please|want|wish|need|should|must|let|make|give|put|set|tell|write|add|book|move|"
    r"cancel|send|leave|keep|do not|don't)\b"
)


def map_request(asked: MapperInput) -> MapperReply:
    """No word in common with any sentence: nothing asks for the demand. A tool's name in the
    request shows the way."""
    passages = [*_split(asked.request), *asked.told, *asked.rules, *_split(asked.policy)]
    real = [one for one in asked.demands if one.id != "rest"]
    best = {
        one.id: max(passages, key=lambda passage: count_shared(one.text, passage), default="")
        for one in real
    }
    sources = [
        DemandSource(
            id=one.id, quote=best[one.id] if count_shared(one.text, best[one.id]) else "", excess=""
        )
        for one in real
    ]
    wishes = [
        Wish(
            words=words,
            demands=[
                one.id for one in asked.demands if one.id == "rest" or count_shared(one.text, words)
            ],
        )
        for words in _split(asked.request)
        if _WISHES.search(words)
    ]
    checked = [
        wish.model_copy(
            update={"demands": [one for one in wish.demands if one != "rest" or _keeps(wish.words)]}
        )
        for wish in wishes
    ]
    return MapperReply(
        sources=sources, wishes=checked[:40], hints=list(_list_hints(asked))[:6], readings=[]
    )


def _list_hints(asked: MapperInput) -> Iterator[Hint]:
    for tool in asked.tools:
        if "_" in tool.name and tool.name in asked.request:
            yield Hint(words=tool.name, shows=f"the tool {tool.name}")


def _keeps(words: str) -> bool:
    return bool(re.search(r"(?i)\b(?:not|n't|leave|keep|stays?|untouched|else|other)\b", words))


def _split(text: str) -> Sequence[str]:
    return [words.strip() for words in _SENTENCE.findall(text) if words.strip()]


def count_shared(one: str, other: str) -> int:
    """Words that two texts have in common, by their beginnings."""
    return len(_words(one) & _words(other))


def _words(text: str) -> set[str]:
    return {
        word[:5]
        for word in (found.casefold() for found in _WORD.findall(text))
        if word not in _PLAIN
    }
