"""Converts messages for chat templates: arguments are objects, a tool's reply is text, and call ids
have nine letters and digits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.interop.exporters.messages import is_idle
from schemas.base import Json, canonical_json


@dataclass(frozen=True)
class TemplateMessage:
    """One message for a template, and its source."""

    place: int
    """Index among the messages of the row."""
    message: dict[str, Json]
    """The message for the template."""
    exact: bool
    """False for a turn with a call that could not be parsed: the template cannot write what the
    policy said."""


def convert_messages(messages: Sequence[Json]) -> list[TemplateMessage]:
    """A conversation for a template. A wait without notifications is left out; notifications become
    a user's message."""
    return list(_convert(messages))


def _convert(messages: Sequence[Json]) -> Iterator[TemplateMessage]:
    calls: dict[str, tuple[str, str]] = {}
    """Call id → its id for the template, and its tool. Some templates require ids of nine letters
    and digits."""
    for place, message in enumerate(messages):
        if is_idle(message):
            continue
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = (f"call{len(calls) + 1:05d}", call["name"])
        exact = not any("raw" in call for call in message.get("tool_calls") or ())
        yield TemplateMessage(place, _convert_message(message, calls), exact)


def _convert_message(message: Json, calls: dict[str, tuple[str, str]]) -> dict[str, Json]:
    role = message["role"]
    if role == "wait":
        return {"role": "user", "content": canonical_json(message["notifications"])}
    if role == "tool":
        number, name = calls.get(message["tool_call_id"], (message["tool_call_id"], ""))
        return {
            "role": "tool",
            "tool_call_id": number,
            "name": name,
            "content": canonical_json(message["content"]),
        }
    converted: dict[str, Json] = {"role": role, "content": message.get("content") or ""}
    if thought := message.get("reasoning"):
        # Templates read one of these two names.
        converted |= {"reasoning_content": thought, "thinking": thought}
    if made := message.get("tool_calls"):
        converted["tool_calls"] = [
            {
                "id": calls[call["id"]][0],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in made
        ]
    return converted
