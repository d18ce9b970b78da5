"""Calls as a model writes them, and replies as it reads them, in the format of the factory's own
rollouts."""

import json
from collections.abc import Mapping
from typing import Any, TypeAlias

Message: TypeAlias = dict[str, Any]

MALFORMED: Message = {
    "ok": False,
    "error": {
        "code": "malformed_call",
        "message": "The arguments are no JSON object, so nothing was called. Write them anew.",
    },
}
"""The reply to a call that could not be parsed."""
OVER: Message = {
    "ok": False,
    "error": {"code": "session_over", "message": "The session is over, so nothing was called."},
}
"""The reply to a call after the end of the session."""


def read_arguments(written: str | Mapping[str, Any] | None) -> Message | None:
    """The arguments object; None where they are none. No text at all is an empty object: models
    write so for tools that take none."""
    value: Any = {} if written is None or written == "" else written
    try:
        if isinstance(value, str):
            value = json.loads(value, object_pairs_hook=_refuse_twins) if value.strip() else {}
        # NaN and half a character are read without a word, and nothing can hold them.
        _render(value).encode()
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType]


def render_reply(reply: Mapping[str, Any]) -> str:
    """A reply as a model reads it."""
    return _render({name: reply[name] for name in ("ok", "parts", "error") if name in reply})


def _render(value: Any) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def _refuse_twins(pairs: list[tuple[str, Any]]) -> Message:
    """The later of two equal keys would win in silence."""
    value = dict(pairs)
    if len(value) < len(pairs):
        raise ValueError("a key stands twice")
    return value
