# pyright: reportUnknownVariableType=false, reportUnknownArgumentType=false, reportUnknownMemberType=false
"""What a session says is a claim, and may be forged: its form and its amounts are checked here,
before anybody reads it."""

import re
from collections.abc import Callable
from operator import itemgetter
from typing import Any

from envmill.runtime.blob import MAX_BLOB, MEDIA_TYPE
from envmill.runtime.jail.allowance import DEEPEST, is_deeper
from envmill.runtime.jail.operations import EMPTY
from envmill.runtime.jail.reading import StateReading
from envmill.runtime.jail.wire import BadFrame, Message
from envmill.runtime.notice import MAX_PENDING, MAX_TEXT

LONGEST_CODE = 80
LONGEST_MESSAGE = 64 * 1024
"""Characters. A program's own words are cut at 2,000; a list of all tools may be longer."""
LONGEST_DELAY = 366 * 86400.0
"""Seconds."""
_MOST_USES = 2**53
_MOST_WORDS, _LONGEST_WORD = 1024, 80
_HASH, _BLOB_NAME = re.compile("[0-9a-f]{32}"), re.compile("[0-9a-f]{64}")

_FIELDS = itemgetter("outcome", "parts", "code", "message", "state_hash", "state")
_USUAL = len(EMPTY)
_OUTCOMES = frozenset(("ok", "rejection", "failure"))
_CONTENT = {"text": ("text", str), "json": ("value", object)}
"""Type of a part → the field that is there besides, and what it holds. Blobs have more."""


def check(claims: Any, reading: StateReading) -> list[Message]:
    """The observations of a frame in full, or BadFrame when one has not the form of one. What is
    not said is as in EMPTY."""
    if type(claims) is not list:
        raise BadFrame("observations that are no list")
    observations: list[Message] = []
    try:
        for claim in claims:
            observation = EMPTY | claim
            observations.append(observation)
            if not claim:
                continue
            # Written out, without a call where it can be helped: a batch has hundreds, and a call
            # takes a microsecond or two in all.
            size = len(claim)
            known = size == 1 or (size == 2 and "state_hash" in claim)
            if (
                known
                and "parts" in claim
                and len(parts := claim["parts"]) == 1
                and type(parts) is list
            ):
                # What nearly every call comes to; all else in it is ours.
                if size == 2 and not _HASH.fullmatch(claim["state_hash"]):
                    raise BadFrame("a hash of another form")
                if len(part := parts[0]) == 2 and part["type"] != "blob":
                    name, kind = _CONTENT[part["type"]]
                    if not isinstance(part[name], kind):
                        raise BadFrame("a part of another form")
                else:
                    _check_blob(part)
                continue
            _check_fields(observation, claim, reading)
    except (KeyError, TypeError, AttributeError):
        raise BadFrame("an observation that lacks something") from None
    return observations


def _check_fields(observation: Message, claim: Message, reading: StateReading) -> None:
    outcome, parts, code, message, state_hash, state = _FIELDS(observation)
    if (
        outcome not in _OUTCOMES
        or not type(code) is type(message) is type(state_hash) is str
        or type(parts) is not list
    ):
        raise BadFrame("an observation of another form")
    if (
        len(code) > LONGEST_CODE
        or len(message) > LONGEST_MESSAGE
        or (state_hash and not _HASH.fullmatch(state_hash))
    ):
        raise BadFrame("an observation whose code, message or hash is too long")
    for part in parts:
        if part["type"] == "blob":
            _check_blob(part)
            continue
        name, kind = _CONTENT[part["type"]]
        if len(part) != 2 or not isinstance(part[name], kind):
            raise BadFrame("a part of another form")
    if state is not None:
        reading.check(state)
    if len(observation) > _USUAL:
        _check_beside(claim)


def check_depth(claims: Any) -> None:
    """BadFrame when anything in a frame is nested deeper than a program may."""
    if is_deeper(claims, DEEPEST):
        raise BadFrame(f"an observation nested deeper than {DEEPEST} levels")


def _check_blob(part: Message) -> None:
    if (
        part["type"] != "blob"
        or not part.keys() <= _OF_BLOBS
        or type(part["size"]) is not int
        or not 0 <= part["size"] <= MAX_BLOB
    ):
        raise BadFrame("a blob of another form")
    if (
        not _BLOB_NAME.fullmatch(part["hash"])
        or not MEDIA_TYPE.fullmatch(part["media_type"])
        or type(part.get("data", "")) is not str
    ):
        raise BadFrame("a blob of another form")


def _check_beside(claim: Message) -> None:
    # Loops and no all(…): calls that read the clock come by here.
    for name, value in claim.items():
        if name not in EMPTY and (name not in _BESIDE or not _BESIDE[name](value)):
            raise BadFrame("an observation with more of another form")


def _are_words(value: Any) -> bool:
    return (
        type(value) is list
        and len(value) <= _MOST_WORDS
        and all(_is_text(word, _LONGEST_WORD) for word in value)
    )


def _are_notes(value: Any) -> bool:
    return type(value) is list and len(value) <= MAX_PENDING and all(map(_is_note, value))


def _is_note(value: Any) -> bool:
    if type(value) is not dict or len(value) != len(_OF_NOTES):
        return False
    return all(_is_text(value.get(name), most) for name, most in _OF_NOTES.items())


def _is_text(value: Any, most: int) -> bool:
    return type(value) is str and len(value) <= most


def _are_counts(value: Any) -> bool:
    if type(value) is not dict:
        return False
    for source, count in value.items():  # noqa: SIM110  # a third of the time of all(…)
        if source not in _SOURCES or type(count) is not int or not 0 <= count < _MOST_USES:
            return False
    return True


def _is_time(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= LONGEST_DELAY


_OF_BLOBS = frozenset(("type", "hash", "media_type", "size", "data"))
_OF_NOTES = {"at": 40, "actor": 80, "text": MAX_TEXT}
"""Field of a notification → characters it may have."""
_SOURCES = frozenset(("clock", "ids", "randomness"))
_BESIDE: dict[str, Callable[[Any], bool]] = {
    "uses": _are_counts,
    "notifications": _are_notes,
    "delay": _is_time,
    "weather": _are_words,
    "denied": _are_words,
}
"""Fields an observation may bear besides."""
