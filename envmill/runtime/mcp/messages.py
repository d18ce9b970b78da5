"""JSON-RPC as MCP speaks it: bytes in, checked messages out, and the forms of what is answered."""

import json
from typing import Any, TypeAlias

from envmill.runtime.canonical import is_object
from envmill.runtime.jail.wire import read_strictly

Message: TypeAlias = dict[str, Any]

LIMIT = 4 * 1024 * 1024
"""Bytes of one message of a client's."""
VERSIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
"""Revisions that begin with `initialize`, oldest first."""
MODERN = "2026-07-28"
"""The revision that knows no sessions. It is spoken where the whole connection is one: over lines,
and not over HTTP."""
BATCHED = "2025-03-26"
"""The one revision that has several messages in an array."""

UNREADABLE, INVALID, UNKNOWN, PARAMETERS, INTERNAL, VERSION = (
    -32700,
    -32600,
    -32601,
    -32602,
    -32603,
    -32022,
)


class RpcError(Exception):
    """What JSON-RPC calls an error: of the message, or of this server; never an answer of a
    tool."""

    def __init__(self, code: int, message: str, data: Any = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, message, data


def read(payload: bytes) -> Any:
    """What a payload holds, or Fault: no NaN, no endless number, no half of a character."""
    try:
        return read_strictly(payload)
    except (ValueError, RecursionError) as error:
        raise RpcError(
            UNREADABLE, f"This is no JSON ({str(error)[:200]}). Write one message a line, in UTF-8."
        ) from None


def render(value: Any) -> bytes:
    """One line, without its end."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def check(message: Any) -> Message:
    """A request, notification or answer as it should be, or Fault."""
    if not is_object(message) or message.get("jsonrpc") != "2.0":
        raise RpcError(INVALID, 'A message is an object with "jsonrpc": "2.0".')
    if "id" in message and not is_name(message["id"]):
        raise RpcError(INVALID, "An id is a text or a whole number.")
    if "method" not in message and ("result" in message or "error" in message):
        return message
    if not isinstance(message.get("method"), str):
        raise RpcError(INVALID, "A message has a method, which is a text.")
    if not is_object(message.get("params", {})):
        raise RpcError(PARAMETERS, "The params are an object.")
    return message


def is_name(value: Any) -> bool:
    """Whether a request may bear it as its id."""
    return isinstance(value, str | int) and not isinstance(value, bool)


def make_reply(name: Any, result: Message) -> Message:
    return {"jsonrpc": "2.0", "id": name, "result": result}


def make_error(name: Any, fault: RpcError) -> Message:
    """The id is null where the message's own could not be read."""
    more = {} if fault.data is None else {"data": fault.data}
    return {
        "jsonrpc": "2.0",
        "id": name,
        "error": {"code": fault.code, "message": fault.message, **more},
    }


def find_name(message: Any) -> Any:
    """The id of what may be no message at all."""
    return message["id"] if is_object(message) and is_name(message.get("id")) else None
