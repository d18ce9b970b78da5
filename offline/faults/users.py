"""Mistakes in the person behind a scenario: they know other than they ask for, less than they hide,
or tell what they should keep back."""

import random
import re

from offline.faults.base import FaultCase, Spoilt
from schemas.base import Json
from schemas.prompts import ScenarioReply

ScenarioCase = FaultCase[ScenarioReply]


def contradict_request(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """Asked back, the person says another amount or day than the request does, and keeps it for the
    conversation."""
    exact = [
        name for name, value in case.reply.facts.items() if isinstance(value, int) or _is_day(value)
    ]
    if not exact or not case.reply.hidden:
        return None
    name = dice.choice(exact)
    value = case.reply.facts[name]
    other = value + 3 if isinstance(value, int) else f"{int(value[:4]) + 1}{value[4:]}"
    hidden = list(dict.fromkeys([*case.reply.hidden, name]))
    words = f"The request has {value!r} for {name}, and the person says {other!r}."
    return _spoil(case, words, facts=case.reply.facts | {name: other}, hidden=hidden)


def forget_fact(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """What is to be told when asked is nothing the person knows."""
    if not case.reply.hidden:
        return None
    name = dice.choice(case.reply.hidden)
    facts = {key: value for key, value in case.reply.facts.items() if key != name}
    return _spoil(
        case, f"The opening leaves out {name}, and the person does not know it.", facts=facts
    )


def reveal_at_once(case: ScenarioCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The opening is the whole request, and yet something is called hidden."""
    return (
        _spoil(case, "What is hidden stands in the opening.", opening=case.reply.request)
        if case.reply.hidden
        else None
    )


def open_with_nothing(case: ScenarioCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """Something is hidden, and there is no first message that leaves it out."""
    return _spoil(case, "There is no opening.", opening="") if case.reply.hidden else None


def _spoil(case: ScenarioCase, words: str, **changes: Json) -> Spoilt:
    return Spoilt(case.reply.model_copy(update=changes).model_dump(mode="json"), words=words)


def _is_day(value: Json) -> bool:
    return isinstance(value, str) and bool(re.fullmatch(r"\d{4}-\d\d-\d\d", value))
