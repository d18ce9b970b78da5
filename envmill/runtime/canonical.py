"""Canonical JSON: the one spelling of a state, its caps, and its hash.

live objects ──plain──► detached JSON value ──spell──► bytes ──fingerprint──► 32 hex digits
"""

import hashlib
import json
import math
from typing import Any, TypeAlias

Json: TypeAlias = Any

MAX_DEPTH = 64
MAX_STATE = 8 * 1024 * 1024
"""Bytes of a spelled state: half a frame, so that a state always fits into one."""
MAX_REPLY = 1024 * 1024
"""Bytes of a spelled tool reply."""
MAX_INTEGER = 2**63
"""Larger integers do not survive other JSON readers unchanged."""

_ENCODER = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


class NotJson(ValueError):
    """A value that JSON cannot carry, with the path that leads to it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def __str__(self) -> str:
        return f"at {'.'.join(reversed(self.path))}: {self.reason}" if self.path else self.reason


def plain(value: Json, depth: int = MAX_DEPTH) -> Json:
    """A detached copy in exact JSON types (tuples become lists), or NotJson. Keys must be strings already."""
    if value is None or value is True or value is False or type(value) is str:
        return value
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, int):
        return _plain_integer(value)
    if isinstance(value, float):
        return _plain_float(value)
    if depth == 0:
        raise NotJson(f"nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return _plain_object(value, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, list | tuple):
        return _plain_array(value, depth - 1)  # pyright: ignore[reportUnknownArgumentType]
    raise NotJson(f"a value of type {type(value).__name__} is not JSON; use dict, list, str, int, float, bool or None")


def _plain_integer(value: int) -> int:
    number = int.__int__(value)
    if -MAX_INTEGER <= number < MAX_INTEGER:
        return number
    raise NotJson("an integer outside 64 bits")


def _plain_float(value: float) -> float:
    if math.isfinite(value):
        return float.__float__(value)
    raise NotJson("NaN and infinity are not JSON")


def _plain_object(value: dict[Any, Json], depth: int) -> dict[str, Json]:
    copy: dict[str, Json] = {}
    for key, item in value.items():
        if not isinstance(key, str):
            raise NotJson(f"the key {str(key)[:40]} is of type {type(key).__name__}; keys must be strings")
        try:
            copy[str.__str__(key)] = plain(item, depth)
        except NotJson as fault:
            fault.path.append(key)
            raise
    return copy


def _plain_array(value: list[Json] | tuple[Json, ...], depth: int) -> list[Json]:
    copy: list[Json] = []
    for item in value:
        try:
            copy.append(plain(item, depth))
        except NotJson as fault:
            fault.path.append(str(len(copy)))
            raise
    return copy


def spell(value: Json, limit: int = MAX_STATE) -> bytes:
    """The canonical bytes of a plain value, or NotJson when they exceed the limit."""
    try:
        spelled = _ENCODER.encode(value).encode()
    except UnicodeEncodeError:
        raise NotJson("a string holds a lone surrogate, which is no text") from None
    if len(spelled) > limit:
        raise NotJson(f"{len(spelled)} bytes of JSON, more than the {limit} allowed")
    return spelled


def fingerprint(spelled: bytes) -> str:
    """The hash of canonical bytes."""
    return hashlib.blake2b(spelled).hexdigest()[:32]
