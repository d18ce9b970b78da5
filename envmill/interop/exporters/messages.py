"""Messages in OpenAI's chat format, where arguments and tool replies are JSON strings."""

from collections.abc import Sequence

from schemas.base import Json, canonical_json
from schemas.rollout import Trajectory

_SPOKEN = ("role", "content", "tool_calls", "tool_call_id", "name")
"""Keys that the vendor accepts; it refuses a line with any other."""


def describe_tools(tools: Sequence[Json]) -> list[Json]:
    """Tools, in the form of a request."""
    return [{"type": "function", "function": tool} for tool in tools]


def as_openai(trajectory: Trajectory) -> Json:
    """A line of a fine-tuning file. A message of the assistant that must not be learnt has weight
    0."""
    weighed = zip(trajectory.messages, trajectory.loss, strict=True)
    rendered = [
        (render_message(message), learned) for message, learned in weighed if not is_idle(message)
    ]
    return {
        "messages": [_weigh(message, learned) for message, learned in rendered],
        "tools": describe_tools(trajectory.tools),
    }


def render_messages(messages: Sequence[Json]) -> list[Json]:
    """A conversation in the vendor's format. A wait without a message is left out."""
    return [render_message(message) for message in messages if not is_idle(message)]


def render_message(message: Json) -> Json:
    """One message. A message that arrived while the agent waited becomes a user's message."""
    if message["role"] == "wait":
        return {"role": "user", "content": canonical_json(message["notifications"])}
    spoken = {name: message[name] for name in _SPOKEN if name in message}
    if message["role"] == "tool":
        return spoken | {"content": canonical_json(message["content"])}
    if "tool_calls" not in message:
        return spoken
    return spoken | {"tool_calls": [_render_call(call) for call in message["tool_calls"]]}


def _render_call(call: Json) -> Json:
    return {
        "id": call["id"],
        "type": "function",
        "function": {"name": call["name"], "arguments": canonical_json(call["arguments"])},
    }


def _weigh(message: Json, learned: bool) -> Json:
    return message if learned or message["role"] != "assistant" else message | {"weight": 0}


def is_idle(message: Json) -> bool:
    return message["role"] == "wait" and not message["notifications"]
