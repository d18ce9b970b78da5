"""Canonical JSON: the one representation of a state, its caps, and its hash.

live objects ──plain──► detached JSON value ──render──► bytes ──fingerprint──► 32 hex digits
"""

import hashlib
import json
import json.encoder
import math
from collections.abc import Callable
from typing import Any, TypeAlias, TypeGuard

Json: TypeAlias = Any

MAX_DEPTH = 64
MAX_STATE = 24 * 1024 * 1024
"""Bytes of a serialised state: less than half a frame, so that a state fits into one as text, each
quote escaped."""
MAX_REPLY = 1024 * 1024
"""Bytes of a rendered tool reply."""
MAX_INTEGER = 2**63
"""Larger integers do not survive other JSON readers unchanged."""

_TOO_DEEP = f"nested deeper than {MAX_DEPTH} levels"
_ATOMS = frozenset((str, bool, type(None)))
"""Types whose values are JSON as they are. A text may still hold what no encoding can write."""
_STR = frozenset((str,))
_ARRAYS, _NUMBERS = (list, tuple), (int, float)
"""Kept as tuples: `list | tuple` is made anew, and asked more slowly, each time."""
_isfinite = math.isfinite

_ENCODER = json.JSONEncoder(
    sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
)


def _make_encoder() -> Callable[[Json], str]:
    """The encoder's inner function, made once: `encode` makes it anew for every value, which costs
    more than a small value does."""
    make: Any = getattr(json.encoder, "c_make_encoder", None)
    if make is None:
        return _ENCODER.encode
    # No circular check: what is rendered was made plain before, and is a tree.
    inner: Callable[[Json, int], tuple[str, ...]] = make(
        None, _ENCODER.default, json.encoder.encode_basestring, None, ":", ",", True, False, False
    )
    return lambda value: "".join(inner(value, 0))


_encode = _make_encoder()


def is_object(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a JSON value is an object."""
    return isinstance(value, dict)


def is_array(value: Json) -> TypeGuard[list[Json]]:
    """Whether a JSON value is an array."""
    return isinstance(value, list)


class NotJson(ValueError):
    """A value that JSON cannot carry, with the path that leads to it."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: list[str] = []

    def __str__(self) -> str:
        return f"at {'.'.join(reversed(self.path))}: {self.reason}" if self.path else self.reason


def plain(value: Json, depth: int = MAX_DEPTH) -> Json:
    """A detached copy in exact JSON types (tuples become lists), or NotJson. Keys must be strings
    already."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind in _ATOMS:
        return value
    if kind is dict:
        return _plain_object(value, depth)
    if kind is list:
        return _plain_array(value, depth)
    if isinstance(value, dict):
        return _plain_object(value, depth)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, _ARRAYS):
        return _plain_array(value, depth)  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(value, str):
        return str.__str__(value)
    if isinstance(value, _NUMBERS):
        return _plain_number(value)
    raise NotJson(
        f"a value of type {type(value).__name__} is not JSON; use dict, list, str, int, float, "
        "bool or None"
    )


def _plain_number(value: float) -> Json:
    if isinstance(value, int):
        if -MAX_INTEGER <= (number := int.__int__(value)) < MAX_INTEGER:
            return number
        raise NotJson("an integer outside 64 bits")
    if math.isfinite(value):
        return float.__float__(value)
    raise NotJson("NaN and infinity are not JSON")


def _plain_object(value: dict[Any, Json], depth: int) -> dict[str, Json]:
    if not depth:
        raise NotJson(_TOO_DEEP)
    depth -= 1
    if not _STR.issuperset(map(type, value)):
        value = {_plain_key(key): item for key, item in value.items()}
    copy: dict[str, Json] = {}
    key = ""
    try:
        for key, item in value.items():
            kind = type(item)  # pyright: ignore[reportUnknownVariableType]
            # Nearly every item ends here: a call for each would double the time a state takes.
            if (
                kind in _ATOMS
                or (kind is float and _isfinite(item))
                or (kind is int and -MAX_INTEGER <= item < MAX_INTEGER)
            ):
                copy[key] = item
            else:
                copy[key] = plain(item, depth)
    except NotJson as fault:
        fault.path.append(key)
        raise
    return copy


def _plain_key(key: Any) -> str:
    if isinstance(key, str):
        return str.__str__(key)
    raise NotJson(f"the key {str(key)[:40]} is of type {type(key).__name__}; keys must be strings")


def _plain_array(value: list[Json] | tuple[Json, ...], depth: int) -> list[Json]:
    if not depth:
        raise NotJson(_TOO_DEEP)
    depth -= 1
    items = list(value)
    if _ATOMS.issuperset(map(type, items)):
        return items
    copy: list[Json] = []
    try:
        for item in items:
            copy.append(item if type(item) in _ATOMS else plain(item, depth))
    except NotJson as fault:
        fault.path.append(str(len(copy)))
        raise
    return copy


def render(value: Json, limit: int = MAX_STATE) -> bytes:
    """The canonical bytes of a plain value, or NotJson when they exceed the limit."""
    try:
        rendered = _encode(value).encode()
    except UnicodeEncodeError:
        raise NotJson("a string holds a lone surrogate, which is no text") from None
    if len(rendered) > limit:
        raise NotJson(f"{len(rendered)} bytes of JSON, more than the {limit} allowed")
    return rendered


def fingerprint(rendered: bytes) -> str:
    """The hash of canonical bytes."""
    return hashlib.blake2b(rendered).hexdigest()[:32]
