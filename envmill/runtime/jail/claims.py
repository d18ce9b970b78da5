# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false
"""What a session says is a claim, and may be forged: its form is checked here, before anybody reads it."""

import math
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from envmill.runtime.jail.operations import EMPTY
from envmill.runtime.jail.reading import StateReading
from envmill.runtime.jail.wire import BadFrame, Message

_FIELDS = itemgetter("outcome", "parts", "code", "message", "state_hash", "state")
_USUAL = len(EMPTY)
_OUTCOMES = frozenset(("ok", "rejection", "failure"))
_CONTENT = {"text": ("text", str), "json": ("value", object), "blob": ("hash", str)}
"""Type of a part → the field that must be there, and what it holds."""


def check(claims: Any, reading: StateReading) -> list[Message]:
    """The observations of a frame in full, or BadFrame when one has not the form of one. What is not said is as in EMPTY."""
    if type(claims) is not list:
        raise BadFrame("observations that are no list")
    observations: list[Message] = []
    try:
        for claim in claims:
            observation = EMPTY | claim
            observations.append(observation)
            if not claim:
                continue
            # Spelled out, without a call where it can be helped: a batch has hundreds, and a call takes a microsecond or two in all.
            if len(claim) == 1 and "parts" in claim and len(parts := claim["parts"]) == 1 and type(parts) is list:
                # What nearly every call comes to; all else in it is ours.
                name, kind = _CONTENT[parts[0]["type"]]
                if not isinstance(parts[0][name], kind):
                    raise BadFrame("a part of another form")
                continue
            outcome, parts, code, message, state_hash, state = _FIELDS(observation)
            if outcome not in _OUTCOMES or not type(code) is type(message) is type(state_hash) is str or type(parts) is not list:
                raise BadFrame("an observation of another form")
            for part in parts:
                name, kind = _CONTENT[part["type"]]
                if not isinstance(part[name], kind):
                    raise BadFrame("a part of another form")
            if state is not None:
                reading.check(state)
            if len(observation) > _USUAL:
                _check_beside(observation)
    except (KeyError, TypeError, AttributeError):
        raise BadFrame("an observation that lacks something") from None
    return observations


def _check_beside(observation: Message) -> None:
    if not all(test(observation[name]) for name, test in _BESIDE.items() if name in observation):
        raise BadFrame("an observation with more of another form")


def _are_words(value: Any) -> bool:
    return type(value) is list and all(type(word) is str for word in value)


def _are_notes(value: Any) -> bool:
    return type(value) is list and all(type(note) is dict for note in value)


def _are_counts(value: Any) -> bool:
    return type(value) is dict and all(type(count) is int for count in value.values())


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value < math.inf


_BESIDE: dict[str, Callable[[Any], bool]] = {
    "uses": _are_counts,
    "notifications": _are_notes,
    "delay": _is_time,
    "weather": _are_words,
    "denied": _are_words,
}
"""Fields an observation may bear besides."""
