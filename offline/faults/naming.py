"""Mistakes in naming places of work: known ones again, one of them twice, what is no place of work,
scores that flatter."""

import random

from offline.faults.base import FaultCase, Spoilt
from schemas.base import Json
from schemas.table_prompts import NamesReply

NamesCase = FaultCase[NamesReply]


def repeat_known(case: NamesCase, dice: random.Random) -> Spoilt | None:
    """A place that was given as an example comes again."""
    known = sorted(case.asked["known"].items())
    if not known:
        return None
    theme, text = dice.choice(known)
    return _replace(case, dice, {"theme": theme, "description": text}, f"{theme} was known.")


def name_twice(case: NamesCase, dice: random.Random) -> Spoilt | None:
    """One place stands there twice, described in other words."""
    names = case.reply.names
    if len(names) < 2:
        return None
    first = dice.choice(names)
    said = first.theme.replace("_", " ")
    twin = first.model_copy(update={"description": f"Everything about {said}: {first.description}"})
    return _make_spoilt(
        [*(one for one in names if one is not first), first, twin][-len(names) :],
        f"{first.theme} stands there twice.",
    )


def add_chat(case: NamesCase, dice: random.Random) -> Spoilt:
    """A place where nothing is kept, with the scores it deserves."""
    theme = dice.choice(("web_search", "small_talk", "unit_converter"))
    told = {
        "theme": theme,
        "description": "Answers from general knowledge.",
        "stateful": False,
        "specific": False,
    }
    return _replace(
        case, dice, told | {"usefulness": 1, "modelability": 1}, f"{theme} keeps no records."
    )


def write_title(case: NamesCase, dice: random.Random) -> Spoilt:
    """A name is a title for people."""
    title = dice.choice(case.reply.names).theme.replace("_", " ").title()
    return _replace(
        case, dice, {"theme": f"{title} Platform"}, "The name is no name in snake_case."
    )


def praise(case: NamesCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """Every score is the highest there is."""
    names = [
        one.model_copy(update={"usefulness": 10, "modelability": 10}) for one in case.reply.names
    ]
    return _make_spoilt(names, "Nothing can be told apart by such scores.")


def give_few(case: NamesCase, dice: random.Random) -> Spoilt:  # noqa: ARG001
    """One place where several were wanted."""
    return _make_spoilt(case.reply.names[:1], f"{case.asked['wanted']} were wanted.")


def _replace(case: NamesCase, dice: random.Random, told: Json, words: str) -> Spoilt:
    place = dice.randrange(len(case.reply.names))
    return _make_spoilt(
        [
            one.model_copy(update=told) if number == place else one
            for number, one in enumerate(case.reply.names)
        ],
        words,
    )


def _make_spoilt(names: Json, words: str) -> Spoilt:
    return Spoilt({"names": [one.model_dump(mode="json") for one in names]}, words=words)
