"""Policies as texts of a model that writes calls in `<tool_call>` tags."""

import json

from schemas.rollout import Rollout
from tests.interop.bundles.policies import Play


def write_call(name: str, arguments: object) -> str:
    return (
        f"<tool_call>\n{json.dumps({'name': name, 'arguments': arguments}, ensure_ascii=False)}\n"
        "</tool_call>"
    )


def write_texts(play: Play) -> list[str]:
    """A turn for each call, and one for the last words."""
    return [*(write_call(call.name, call.arguments) for call in play.calls), " ".join(play.said)]


def write_talk(rollout: Rollout) -> list[str]:
    """A conversation's turns, as it was played natively."""
    turns = [entry for entry in rollout.transcript if entry["role"] == "assistant"]
    calls = [
        [write_call(one["name"], one["arguments"]) for one in turn.get("tool_calls") or []]
        for turn in turns
    ]
    return ["\n".join(made) or turn["content"] for made, turn in zip(calls, turns, strict=True)]
