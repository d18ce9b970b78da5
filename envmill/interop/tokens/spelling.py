"""Messages as chat templates read them: objects as arguments, text as a tool's reply, call ids of
nine letters and digits."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from envmill.interop.exporters.messages import is_idle
from schemas.base import Json, canonical_json


@dataclass(frozen=True)
class SpelledMessage:
    """One message for a template, and its source."""

    place: int
    """Index among the messages of the row."""
    message: dict[str, Json]
    """What the template is given."""
    exact: bool
    """False for a turn with a call that could not be read: the template cannot spell what the
    policy said."""


def convert_messages(messages: Sequence[Json]) -> list[SpelledMessage]:
    """A conversation for a template. Waiting in which nothing came is left out; what came is told
    as a user's message."""
    return list(_convert(messages))


def _convert(messages: Sequence[Json]) -> Iterator[SpelledMessage]:
    calls: dict[str, tuple[str, str]] = {}
    """Call id → id for the template (some templates refuse any but nine letters and digits) and
    tool."""
    for place, message in enumerate(messages):
        if is_idle(message):
            continue
        for call in message.get("tool_calls") or ():
            calls[call["id"]] = (f"call{len(calls) + 1:05d}", call["name"])
        exact = not any("raw" in call for call in message.get("tool_calls") or ())
        yield SpelledMessage(place, _convert_message(message, calls), exact)


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
    spelled: dict[str, Json] = {"role": role, "content": message.get("content") or ""}
    if thought := message.get("reasoning"):
        # The names that templates read it under.
        spelled |= {"reasoning_content": thought, "thinking": thought}
    if made := message.get("tool_calls"):
        spelled["tool_calls"] = [
            {
                "id": calls[call["id"]][0],
                "type": "function",
                "function": {"name": call["name"], "arguments": call["arguments"]},
            }
            for call in made
        ]
    return spelled
