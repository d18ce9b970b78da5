"""Mistakes in other words for a request: what cannot be found out any more, or what nobody outside
of the program says."""

import random
import re
from typing import Any

from offline.faults.base import FaultCase, Spoilt
from schemas.calls import read_call
from schemas.environment import Call
from schemas.typed_prompts import RewordReply

RewordCase = FaultCase[RewordReply]


def leak_id(case: RewordCase, dice: random.Random) -> Spoilt | None:
    """The id of a row is said."""
    ids = sorted(
        {
            str(value)
            for call in _list_calls(case)
            for name, value in call.arguments.items()
            if name.endswith("_id")
        }
    )
    return (
        _make_spoilt(case, f"{case.reply.request} (That is {dice.choice(ids)}.)", "An id is said.")
        if ids
        else None
    )


def name_tool(case: RewordCase, dice: random.Random) -> Spoilt | None:
    """A tool is named."""
    tools = sorted({call.name for call in _list_calls(case) if "_" in call.name})
    return (
        _make_spoilt(
            case, f"{case.reply.request} Use {dice.choice(tools)} for it.", "A tool is named."
        )
        if tools
        else None
    )


def name_nobody(case: RewordCase, dice: random.Random) -> Spoilt | None:
    """What is meant is called `it`, and nothing before says what that is."""
    told = [value for value in _list_texts(case) if case.reply.request.count(value) == 1]
    if not told:
        return None
    return _make_spoilt(
        case,
        case.reply.request.replace(dice.choice(told), "that one"),
        "Nothing says which one is meant.",
    )


def change_fact(case: RewordCase, dice: random.Random) -> Spoilt | None:
    """The person would say something else when asked."""
    facts: dict[str, Any] = dict(case.reply.facts)
    told = sorted(name for name, value in facts.items() if isinstance(value, str))
    if not told:
        return None
    name = dice.choice(told)
    reply = case.reply.model_dump(mode="json")
    return Spoilt(
        reply | {"facts": facts | {name: f"{facts[name]} the second"}},
        words=f"{name} is another one.",
    )


def change_number(case: RewordCase, dice: random.Random) -> Spoilt | None:  # noqa: ARG001
    """A number, or the digits of a name, is another one."""
    found = re.search(r"\d+", case.reply.request)
    if not found:
        return None
    other = str(int(found[0]) + 3)
    return _make_spoilt(
        case,
        case.reply.request[: found.start()] + other + case.reply.request[found.end() :],
        "A number is another one.",
    )


def _list_calls(case: RewordCase) -> list[Call]:
    return [Call.model_validate(read_call(call)) for call in case.asked["oracle"]]


def _list_texts(case: RewordCase) -> list[str]:
    return sorted(
        {value for value in case.reply.facts.values() if isinstance(value, str) and len(value) > 3}
    )


def _make_spoilt(case: RewordCase, request: str, words: str) -> Spoilt:
    return Spoilt(case.reply.model_dump(mode="json") | {"request": request}, words=words)
