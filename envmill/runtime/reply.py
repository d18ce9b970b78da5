"""Replies: what a call came to, in the three outcomes, and a tool's return value as parts."""

import marshal
from collections.abc import Callable
from typing import Any, Literal, NotRequired, TypeAlias, TypedDict

from envmill.runtime.blob import BadBlob, Blob, BlobStore
from envmill.runtime.canonical import MAX_REPLY, Json, NotJson, plain, render
from envmill.runtime.notice import Notification

WIDEST = 6
"""Bytes of JSON for one of marshal's second version, at most: a control character becomes
`\\u0001`."""
_SURROGATE = 0xED
_ARRAYS = (list, tuple)

Outcome = Literal["ok", "rejection", "failure"]
Fragment: TypeAlias = Callable[[Any], Any]
"""Makes of a value what whoever sends it copies as it is, or None when it has to be looked at
first."""


class Error(TypedDict):
    code: str
    message: str


class Reply(TypedDict):
    """What a call came to: `parts` when ok, `error` when not."""

    ok: bool
    outcome: Outcome
    parts: NotRequired[list[dict[str, Json]]]
    """`{"type": "text", "text": …}`, `{"type": "json", "value": …}` or `{"type": "blob", "hash": …,
    "media_type": …, "size": …}`."""
    error: NotRequired[Error]
    notifications: NotRequired[list[Notification]]
    """What came while time passed; only `advance` brings any."""
    delay: NotRequired[float]
    """Seconds the weather let the caller wait."""
    weather: NotRequired[list[str]]
    """Kinds of trouble the call met: for the record, never for the agent."""


def parts_of(
    value: Any, shelf: BlobStore, fragment: Fragment | None = None
) -> list[dict[str, Json]]:
    """A return value as parts: text stays text, a blob becomes its hash, a list with blobs in it
    one part each, the rest JSON."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if fragment and (kind is dict or kind is list) and (rendered := fragment(value)) is not None:
        return [{"type": "json", "value": rendered}]
    if kind is dict:
        value = plain(value)
        _weigh(value)
        return [{"type": "json", "value": value}]
    if isinstance(value, _ARRAYS) and any(isinstance(one, Blob) for one in value):  # pyright: ignore[reportUnknownVariableType]
        return [_part_of(one, shelf) for one in value]  # pyright: ignore[reportUnknownVariableType]
    return [_part_of(value, shelf)]


def _part_of(value: Any, shelf: BlobStore) -> dict[str, Json]:
    if isinstance(value, Blob):
        try:
            return shelf.put(value)
        except (BadBlob, TypeError) as error:
            raise NotJson(str(error)) from None
    value = plain(value)
    _weigh(value)
    return (
        {"type": "text", "text": value}
        if isinstance(value, str)
        else {"type": "json", "value": value}
    )


def _weigh(value: Json) -> None:
    """NotJson for what cannot be sent. The sender renders it, so that it is rendered here only
    where that is in doubt."""
    if isinstance(value, str) and value.isascii() and len(value) < MAX_REPLY // WIDEST:
        return
    # Every text is in it as UTF-8, in which a surrogate begins with this byte.
    bytes_of_it = marshal.dumps(value, 2)
    if _SURROGATE in bytes_of_it or len(bytes_of_it) > MAX_REPLY // WIDEST:
        render(value, MAX_REPLY)


def refuse(code: str, message: str) -> Reply:
    return {"ok": False, "outcome": "rejection", "error": {"code": code, "message": message}}


def fail(code: str, message: str) -> Reply:
    return {"ok": False, "outcome": "failure", "error": {"code": code, "message": message}}
