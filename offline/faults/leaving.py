"""Mistakes in scenarios after which nothing may have changed: the last words prove nothing, or the
path does what it should not."""

import random

from offline.faults.base import FaultCase, Spoilt
from offline.wording import render_value
from schemas.prompts import ScenarioReply
from schemas.scenario import LEFT_ALONE, Fact

ScenarioCase = FaultCase[ScenarioReply]


def omit_facts(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """The last words of the reference path do not hold what they must."""
    if not case.reply.tell:
        return None
    said = dice.choice(("Done.", "I looked into it.", "I am sorry, I cannot help with that.", ""))
    return _finish(case, f"The last words {said!r} hold none of the facts asked for.", say=said)


def reveal_in_request(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """What must be found out stands in the request already, so repeating it proves nothing."""
    plain = [each for each in case.reply.tell if each.kind in ("text", "number")]
    if not plain:
        return None
    value = dice.choice(plain).value
    return _finish(
        case,
        f"The request says {value!r} itself.",
        request=f"{case.reply.request} I think it is {value}.",
    )


def ask_for_nothing(case: ScenarioCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """Nothing must be said, so doing nothing is enough."""
    return (
        _finish(case, "Nothing must be said and nothing done.", tell=[])
        if case.reply.tell
        else None
    )


def answer_wrongly(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """What must be said is not what the state holds."""
    wrong = [
        (number, each)
        for number, each in enumerate(case.reply.tell)
        if each.rivals and each.kind in ("text", "number", "date")
    ]
    if not wrong:
        return None
    number, fact = dice.choice(wrong)
    other = dice.choice(fact.rivals)
    told = [*case.reply.tell]
    told[number] = fact.model_copy(
        update={"value": other, "rivals": [each for each in fact.rivals if each != other]}
    )
    return _finish(
        case,
        f"{fact.name} is {fact.value!r}, not {other!r}.",
        tell=told,
        say=case.reply.say.replace(render_value(fact.value), render_value(other)),
    )


def recite_everything(case: ScenarioCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """The last words recite whatever might be asked for."""
    rivals = [
        str(each) for fact in case.reply.tell if fact.kind != "pattern" for each in fact.rivals
    ]
    if not rivals:
        return None
    return _finish(
        case,
        "The last words hold rivals of what must be said.",
        say=f"{case.reply.say} Or {', or '.join(rivals)}.",
    )


def ask_for_common_words(case: ScenarioCase, dice: random.Random) -> Spoilt | None:
    """What must be said is what anybody says who refuses, whatever the reason."""
    if case.reply.polarity not in LEFT_ALONE:
        return None
    words = dice.choice(("sorry", "cannot|can't|unable", "not possible"))
    told = Fact(name="that it is refused", kind="pattern", value=rf"(?i)\b({words})\b")
    said = f"I am sorry, I cannot do this, it is not possible. {case.reply.say}"
    return _finish(case, "A refusal without a reason holds it too.", tell=[told], say=said)


def _finish(case: ScenarioCase, words: str, **changed: object) -> Spoilt:
    return Spoilt(case.reply.model_copy(update=changed).model_dump(mode="json"), words=words)
