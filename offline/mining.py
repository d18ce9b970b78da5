"""Themes: what environment a text comes from, judged by the words it shares with the domains that
are known.

text ─► nearest domain by words ─► a theme that can be made, or: nothing is kept there, or: work nobody here knows
"""

import json
import re
from functools import cache
from math import log

from envmill.base.settings import ROOT
from envmill.recipes.drafting.themes import read_themes
from offline.knowledge import load_domain
from schemas.prompts import ThemeReply
from schemas.seed import Brief

TEXTS = ROOT / "data/seeds/tasks.jsonl"
NEAR = 4.5
"""Weight of the words a text must share with a domain to be taken to come from it; below, it could
be about anything."""
GOOD, POOR = 8, 3


def judge_text(text: str) -> ThemeReply:
    """A text of a domain that is known is worth building; one of other work cannot be modelled by
    whoever does not know it."""
    theme, likeness = find_domain(text)
    if not theme:
        return ThemeReply(
            reason="The text asks for words alone; nothing would have to be kept or changed.",
            stateful=False,
            specific=False,
        )
    known = dict(read_themes())
    if theme not in known:
        said = theme.replace("_", " ")
        return ThemeReply(
            reason=f"Records of {said} would be kept and changed, by rules that are not known here.",
            stateful=True,
            specific=True,
            theme=theme,
            description=f"Records of {said} and what is done with them.",
            usefulness=GOOD,
            modelability=POOR,
        )
    return ThemeReply(
        reason=f"Somebody who does this reads and changes records of {theme.replace('_', ' ')}.",
        stateful=True,
        specific=True,
        theme=theme,
        description=known[theme],
        usefulness=GOOD + (likeness > 2 * NEAR),
        modelability=GOOD,
    )


def place_text(text: str) -> Brief:
    """The brief of the domain a text comes from; of the first one where it comes from none that can
    be made."""
    known = dict(read_themes())
    theme = find_domain(text)[0]
    theme = theme if theme in known else next(iter(known))
    return Brief(theme=theme, text=known[theme], number=0)


@cache
def find_domain(text: str) -> tuple[str, float]:
    """(domain, likeness): as the text's own row says where it is one of ours, or the one that
    shares most words; empty where none does."""
    if text in (own := _read_own()):
        return own[text], NEAR
    words, domains = _stem(text), _stem_domains()
    weights = {
        word: log(len(domains) / count)
        for word in words
        if (count := sum(word in known for known in domains.values()))
    }
    near = (
        (sum(weight for word, weight in weights.items() if word in known), name)
        for name, known in sorted(domains.items())
    )
    likeness, name = max(near, default=(0.0, ""))
    return (name, likeness) if likeness >= NEAR else ("", likeness)


@cache
def _read_own() -> dict[str, str]:
    rows = (json.loads(line) for line in TEXTS.read_text(encoding="utf-8").splitlines())
    return {row["text"]: row["domain"] for row in rows}


@cache
def _stem_domains() -> dict[str, frozenset[str]]:
    """Domain → stems of everything people say there."""
    return {name: _stem(_describe(name, text)) for name, text in read_themes()}


def _describe(name: str, text: str) -> str:
    domain = load_domain(name)
    said = (
        phrase
        for each in domain.operations.values()
        for phrase in (each.does, *each.asks, *each.tells)
    )
    return " ".join(
        [name, text, *(each.noun for each in domain.collections.values()), *said]
    ).replace("_", " ")


def _stem(text: str) -> frozenset[str]:
    """Beginnings of words, so that their forms meet."""
    return frozenset(
        word[:5] for word in re.findall(r"[a-z]{4,}", re.sub(r"\{.*?\}", " ", text.lower()))
    )
