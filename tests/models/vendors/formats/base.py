"""What a wire format is: a body read, an answer written whole or as events; and how each vendor
words an error."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.models.vendors.conversation import Conversation
from tests.models.vendors.exchange import Answer
from tests.models.vendors.script import Fault, Turn

Body = dict[str, Any]


@dataclass(frozen=True)
class Format:
    """One format."""

    read: Callable[[Body], Conversation]
    answer: Callable[[Conversation, Turn], Body]
    stream: Callable[[Conversation, Turn], list[bytes]]


def pieces(text: str, size: int = 8) -> list[str]:
    """A text as a stream brings it."""
    return [text[start : start + size] for start in range(0, len(text), size)]


def render_event(value: object, name: str = "") -> bytes:
    """One server-sent event."""
    return (
        (f"event: {name}\n" if name else "").encode()
        + b"data: "
        + json.dumps(value).encode()
        + b"\n\n"
    )


_ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}
_OPENAI_CODES = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
    503: "server_error",
}


def refuse(path: str, fault: Fault) -> Answer:
    """An error as the vendor at this path words it."""
    headers = {"retry-after": fault.retry_after} if fault.retry_after else {}
    if path.startswith("/v1/messages"):
        body = {"type": "error", "error": anthropic_error(fault), "request_id": "req_loopback"}
    else:
        body = {"error": openai_error(fault)}
    return Answer(json.dumps(body).encode(), fault.status, headers=headers)


def anthropic_error(fault: Fault) -> Body:
    return {
        "type": fault.code or _ANTHROPIC_TYPES.get(fault.status, "api_error"),
        "message": fault.message,
    }


def openai_error(fault: Fault) -> Body:
    kind = "invalid_request_error" if fault.status < 500 else "server_error"
    return {
        "message": fault.message,
        "type": kind,
        "param": None,
        "code": fault.code or _OPENAI_CODES.get(fault.status),
    }
