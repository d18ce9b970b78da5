"""Messages: Anthropic's format."""

import re
from collections.abc import Sequence
from typing import ClassVar

from envmill.models.base import Completion, Message, Request, Stop
from envmill.models.dialect import (
    ModelTerms,
    WireRequest,
    add_cached,
    note_dropped,
    note_form,
    pick_form,
    read_call,
    refuse_shape,
    render_arguments,
)
from envmill.models.shape import take_count, take_object, take_objects, take_text
from envmill.models.streams import gather_message
from schemas.base import Json

_MOST_OUTPUT = 16_384
"""The vendor wants a limit named. A program of a thousand lines fits; a longer reply is
continued."""
_STOPS: dict[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "tool_use": "tool",
    "refusal": "refusal",
}
_SIGNED = ("thinking", "redacted_thinking")
_KEPT: Json = {"type": "ephemeral"}
_FOREIGN = re.compile(r"[^a-zA-Z0-9_-]")


class Messages:
    """`POST /v1/messages`."""

    path = "/v1/messages"
    optional = frozenset({"output_config"})

    streaming: ClassVar[dict[str, Json]] = {"stream": True}

    def write(self, request: Request, model: str, terms: ModelTerms) -> WireRequest:
        """Body of the request. The vendor has no sampling knobs but the limit, and knows no form
        but the schema."""
        form, schema = pick_form(request, terms)
        system = "\n\n".join(
            message.text for message in request.messages if message.role == "system"
        )
        body: dict[str, Json] = {
            "model": model,
            "max_tokens": terms.limit(request.sampling.max_tokens or _MOST_OUTPUT),
            "messages": _write_messages(request.messages),
        }
        if terms.own:
            _mark(list(body["messages"]), request)
        if system:
            body["system"] = system
        if form == "schema":
            body["output_config"] = {"format": {"type": "json_schema", "schema": schema}}
        if request.tools:
            body["tools"] = [
                {
                    "name": tool.name,
                    "description": tool.description,
                    "input_schema": tool.parameters,
                }
                for tool in request.tools
            ]
        notes = note_dropped(request, ("temperature", "top_p", "seed", "logprobs"))
        return WireRequest(
            body, (*notes, *note_form("prompt" if form == "object" else form, request))
        )

    def read(self, body: Json) -> Completion:
        """Texts, calls and thinking of one message."""
        message = take_object(body)
        if message.get("type") != "message" or not isinstance(message.get("content"), list):
            raise refuse_shape("message")
        blocks = take_objects(message["content"])
        calls = tuple(
            read_call(take_text(block.get("id")), take_text(block.get("name")), block.get("input"))
            for block in blocks
            if block.get("type") == "tool_use"
        )
        usage = take_object(message, "usage")
        stop = _STOPS.get(take_text(message.get("stop_reason")), "end")
        text = "".join(
            take_text(block.get("text")) for block in blocks if block.get("type") == "text"
        )
        return Completion(
            text=text
            or (
                take_text(take_object(message, "stop_details").get("explanation"))
                if stop == "refusal"
                else ""
            ),
            tool_calls=calls,
            reasoning="\n\n".join(
                take_text(block.get("thinking"))
                for block in blocks
                if block.get("type") == "thinking"
            ),
            stop="tool" if calls and stop == "end" else stop,
            usage=add_cached(
                take_count(usage.get("input_tokens")),
                take_count(usage.get("cache_read_input_tokens")),
                take_count(usage.get("cache_creation_input_tokens")),
                take_count(usage.get("output_tokens")),
                take_count(take_object(usage, "output_tokens_details").get("thinking_tokens")),
            ),
            model=take_text(message.get("model")),
            signed=tuple(block for block in blocks if block.get("type") in _SIGNED)
            if calls
            else (),
            notes=() if usage else ("the server names no usage",),
        )

    def gather(self, events: Sequence[dict[str, Json]]) -> dict[str, Json]:
        """The body a stream would have been."""
        return gather_message(events)


def _mark(messages: list[Json], request: Request) -> None:
    """Where the vendor's cache may end: behind what is constant, behind the environment, and behind
    a conversation that may go on.

    A marked beginning costs a quarter more to write and a tenth to read, so the last part of a
    single question has no mark.
    """
    opening = (
        take_objects(messages[0].get("content"))
        if messages and messages[0]["role"] == "user"
        else []
    )
    if opening and opening[0].get("type") == "text":
        *kept, last = request.prompt.cut(take_text(opening[0].get("text")))
        marked: list[dict[str, Json]] = [
            {"type": "text", "text": part, "cache_control": _KEPT} for part in kept
        ]
        messages[0]["content"] = [*marked, {"type": "text", "text": last}, *opening[1:]]
    if len(messages) > 1 and messages[-1]["content"]:
        messages[-1]["content"][-1]["cache_control"] = _KEPT


def _write_messages(messages: tuple[Message, ...]) -> list[Json]:
    """The results of one turn's calls must stand in one message of the user."""
    written: list[dict[str, Json]] = []
    for message in messages:
        if message.role == "system":
            continue
        role, blocks = (
            ("assistant" if message.role == "assistant" else "user"),
            _write_blocks(message),
        )
        if written and written[-1]["role"] == role:
            written[-1]["content"] += blocks
        elif blocks:
            written.append({"role": role, "content": blocks})
    return list(written)


def _write_blocks(message: Message) -> list[Json]:
    """An empty text is refused, so it is left out."""
    if message.role == "tool":
        return [
            {
                "type": "tool_result",
                "tool_use_id": _render_id(message.tool_call_id),
                "content": message.text,
            }
        ]
    said: list[Json] = [{"type": "text", "text": message.text}] if message.text.strip() else []
    calls: list[Json] = [
        {
            "type": "tool_use",
            "id": _render_id(call.id),
            "name": call.name,
            "input": render_arguments(call),
        }
        for call in message.tool_calls
    ]
    thought = (
        [block for block in message.signed if take_object(block).get("type") in _SIGNED]
        if calls
        else []
    )
    return thought + said + calls


def _render_id(call_id: str) -> str:
    """Ids that other servers gave may hold letters this one refuses."""
    return _FOREIGN.sub("_", call_id) or "call"
