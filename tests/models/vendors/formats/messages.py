"""Messages: Anthropic's format, in content blocks."""

import json

from tests.models.vendors.conversation import Conversation, flatten
from tests.models.vendors.formats.base import Body, pieces, render_event
from tests.models.vendors.script import Turn

_STOPS = {
    "end": "end_turn",
    "length": "max_tokens",
    "tool": "tool_use",
    "refusal": "refusal",
    "filter": "refusal",
}


def read(body: Body) -> Conversation:
    texts = [
        flatten(body.get("system")),
        *(flatten(message.get("content")) for message in body.get("messages", ())),
    ]
    form = (body.get("output_config") or {}).get("format") or {}
    return Conversation(
        model=body.get("model", ""),
        text="\n".join(texts).lstrip("\n"),
        last=texts[-1],
        schema=form.get("schema"),
        limit=body.get("max_tokens") or 0,
        stream=bool(body.get("stream")),
    )


def answer(asked: Conversation, turn: Turn) -> Body:
    return {
        "id": f"msg_{asked.digest}",
        "type": "message",
        "role": "assistant",
        "model": asked.model,
        "content": _render_blocks(turn),
        "stop_reason": _STOPS[turn.stop],
        "stop_sequence": None,
        "usage": _count(asked, turn),
    }


def stream(asked: Conversation, turn: Turn) -> list[bytes]:
    whole = answer(asked, turn)
    begun = whole | {
        "content": [],
        "stop_reason": None,
        "usage": whole["usage"] | {"output_tokens": 1},
    }
    said = [render_event({"type": "message_start", "message": begun}, "message_start")]
    for index, block in enumerate(whole["content"]):
        said += _stream_block(
            index,
            block,
            dict(enumerate(turn.tools)).get(index - len(whole["content"]) + len(turn.tools)),
        )
    usage = {"output_tokens": whole["usage"]["output_tokens"]}
    ended = {
        "type": "message_delta",
        "delta": {"stop_reason": whole["stop_reason"], "stop_sequence": None},
        "usage": usage,
    }
    return [
        *said,
        render_event(ended, "message_delta"),
        render_event({"type": "message_stop"}, "message_stop"),
    ]


def _stream_block(index: int, block: Body, tool: tuple[str, str] | None) -> list[bytes]:
    """Arguments come as text, malformed ones too; whole answers cannot hold those."""
    match block["type"]:
        case "text":
            empty, deltas = (
                block | {"text": ""},
                [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])],
            )
        case "thinking":
            empty = block | {"thinking": "", "signature": ""}
            deltas = [
                {"type": "thinking_delta", "thinking": piece} for piece in pieces(block["thinking"])
            ]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        case _:
            arguments = tool[1] if tool else json.dumps(block["input"])
            empty, deltas = (
                block | {"input": {}},
                [
                    {"type": "input_json_delta", "partial_json": piece}
                    for piece in pieces(arguments)
                ],
            )
    start = {"type": "content_block_start", "index": index, "content_block": empty}
    middle = [{"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas]
    return [
        render_event(event, str(event["type"]))
        for event in (start, *middle, {"type": "content_block_stop", "index": index})
    ]


def _render_blocks(turn: Turn) -> list[Body]:
    blocks: list[Body] = []
    if turn.reasoning:
        blocks.append({"type": "thinking", "thinking": turn.reasoning, "signature": "c2lnbmVk"})
    if turn.text:
        blocks.append({"type": "text", "text": turn.text})
    for number, (name, arguments) in enumerate(turn.tools):
        blocks.append(
            {
                "type": "tool_use",
                "id": f"toolu_{number}",
                "name": name,
                "input": _read_arguments(arguments),
            }
        )
    return blocks


def _read_arguments(arguments: str) -> object:
    try:
        return json.loads(arguments)
    except ValueError:
        return arguments  # a server that could not read them either


def _count(asked: Conversation, turn: Turn) -> Body:
    """Input leaves out what was read from or written to the cache."""
    return {
        "input_tokens": asked.count_input(turn) - turn.cached - turn.cache_write,
        "cache_read_input_tokens": turn.cached,
        "cache_creation_input_tokens": turn.cache_write,
        "output_tokens": asked.count_output(turn),
        "output_tokens_details": {"thinking_tokens": turn.thought},
    }
