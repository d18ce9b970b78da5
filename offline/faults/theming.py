"""Mistakes in judging a text: work taken for chat and chat for work, scores that flatter or
belittle, a name that is none."""

import random

from offline.faults.base import FaultCase, Spoilt
from schemas.base import Json
from schemas.prompts import ThemeReply

ThemeCase = FaultCase[ThemeReply]


def take_for_work(case: ThemeCase, dice: random.Random) -> Spoilt:
    """What asks for words alone is given an environment, or work that is known the wrong one."""
    theme = dice.choice(("virtual_assistant", "content_management", "data_analysis"))
    told = {
        "stateful": True,
        "specific": True,
        "theme": theme,
        "description": "An assistant's records.",
        "usefulness": 8,
        "modelability": 8,
    }
    return _spoil(case, "The environment is not where the text comes from.", **told)


def take_for_chat(case: ThemeCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """Work on records is said to need none."""
    return _spoil(
        case,
        "Nothing is said to be kept.",
        stateful=not case.reply.stateful,
        reason="It can be answered from knowledge alone.",
    )


def call_general(case: ThemeCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """One field of work is said to be any, or the other way round."""
    return _spoil(
        case, "Whether it belongs to one field is misjudged.", specific=not case.reply.specific
    )


def praise(case: ThemeCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """Every score is the highest there is."""
    return _spoil(case, "Nothing can be told apart by such scores.", usefulness=10, modelability=10)


def belittle(case: ThemeCase, dice: random.Random) -> Spoilt:
    """A good theme is given a poor score."""
    return _spoil(case, "It is worth more.", **{dice.choice(("usefulness", "modelability")): 2})


def write_title(case: ThemeCase, dice: random.Random) -> Spoilt:
    """The name is a title for people."""
    title = (case.reply.theme or "general help").replace("_", " ").title()
    return _spoil(
        case,
        "The name is no name in snake_case.",
        theme=f"{title} {dice.choice(('System', 'Platform', 'Suite'))}",
    )


def score_beyond(case: ThemeCase, dice: random.Random) -> Spoilt:
    """A score beyond the scale."""
    return _spoil(case, "The scale ends at ten.", usefulness=dice.choice((11, 75, 95, 100)))


def _spoil(case: ThemeCase, words: str, **changes: Json) -> Spoilt:
    return Spoilt(case.reply.model_dump(mode="json") | changes, words=words)
