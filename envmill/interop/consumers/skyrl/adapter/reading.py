# pyright: basic, reportMissingImports=false
"""Calls in the text of a model: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`, as Hermes
and Qwen write them."""

import json
import re
from dataclasses import dataclass, field
from typing import Any

from .sessions.calls import read_arguments

_CALL = re.compile(r"<tool_call>(.*?)(?:</tool_call>|(?=<tool_call>)|\Z)", re.DOTALL)
"""The closing tag may be missing: servers cut it off where it is a stop string."""
_THOUGHT = "</think>"


@dataclass(frozen=True)
class ModelTurn:
    """What a model said in one turn."""

    words: str
    """Text outside of calls, without its thoughts."""
    calls: list[tuple[str, Any]] = field(default_factory=list[tuple[str, Any]])
    """Name and arguments, in order; where a call cannot be read no name, and a text that is no
    arguments object."""


def read_turn(text: str) -> ModelTurn:
    """Thoughts go first: whatever stands before the last `</think>`, and after a `<think>` that
    never ends."""
    spoken = text.rpartition(_THOUGHT)[2].partition("<think>")[0]
    return ModelTurn(
        _CALL.sub("", spoken).strip(), [_read_call(one) for one in _CALL.findall(spoken)]
    )


def render_replies(replies: list[str]) -> str:
    """Replies to the calls of one turn."""
    return "\n".join(f"<tool_response>\n{reply}\n</tool_response>" for reply in replies)


def _read_call(text: str) -> tuple[str, Any]:
    call = read_arguments(text.strip() or "?")
    if call is None or not isinstance(call.get("name"), str):
        return "", "?"
    arguments = call.get("arguments")
    return call["name"], arguments if arguments is None or isinstance(
        arguments, (str, dict)
    ) else json.dumps(arguments)
