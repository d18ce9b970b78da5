"""A reply of the native interface as the result of an MCP call: what was answered, or why nothing
was."""

import json
from collections.abc import Callable
from typing import Any

from envmill.runtime.canonical import is_object
from envmill.runtime.mcp.messages import Message


def describe_result(seen: Message, fetch: Callable[[str], Message]) -> Message:
    """Parts as content, one each. What was refused and what failed are both errors, and `outcome`
    tells which."""
    if not seen["ok"]:
        told = {"error": {"outcome": seen["outcome"], **seen["error"]}}
        return {"content": [_make_text(_render(told))], "structuredContent": told, "isError": True}
    parts: list[Message] = seen["parts"]
    result: Message = {"content": [_describe_part(part, fetch) for part in parts], "isError": False}
    if [part["type"] for part in parts] == ["json"] and is_object(parts[0]["value"]):
        result["structuredContent"] = parts[0]["value"]
    return result


def _describe_part(part: Message, fetch: Callable[[str], Message]) -> Message:
    if part["type"] == "text":
        return _make_text(part["text"])
    if part["type"] == "json":
        return _make_text(_render(part["value"]))
    found = fetch(part["hash"])
    return _describe_blob(found["parts"][0]) if found["ok"] else _make_text(_render(part))


def _describe_blob(blob: Message) -> Message:
    kind, media_type = blob["media_type"].split("/")[0], blob["media_type"]
    if kind in ("image", "audio"):
        return {"type": kind, "data": blob["data"], "mimeType": media_type}
    resource = {
        "uri": f"envmill://blob/{blob['hash']}",
        "mimeType": media_type,
        "blob": blob["data"],
    }
    return {"type": "resource", "resource": resource}


def _make_text(text: str) -> Message:
    return {"type": "text", "text": text}


def _render(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
