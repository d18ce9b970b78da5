"""Chat completions: OpenAI's older format, which every compatible server speaks."""

import zlib

from tests.models.vendors.conversation import Conversation, flatten
from tests.models.vendors.formats.base import Body, pieces, render_event
from tests.models.vendors.script import Turn

_STOPS = {
    "end": "stop",
    "length": "length",
    "tool": "tool_calls",
    "refusal": "stop",
    "filter": "content_filter",
}


def read(body: Body) -> Conversation:
    texts = [flatten(message.get("content")) for message in body.get("messages", ())]
    form = body.get("response_format") or {}
    return Conversation(
        model=body.get("model", ""),
        text="\n".join(texts),
        last=texts[-1] if texts else "",
        schema=(form.get("json_schema") or {}).get("schema"),
        limit=body.get("max_completion_tokens") or body.get("max_tokens") or 0,
        stream=bool(body.get("stream")),
        logprobs=bool(body.get("logprobs")),
        token_ids=bool(body.get("return_token_ids")),
        seed=body.get("seed"),
    )


def answer(asked: Conversation, turn: Turn) -> Body:
    message: Body = {
        "role": "assistant",
        "content": None if turn.stop == "refusal" else turn.text,
        "refusal": None,
    }
    if turn.stop == "refusal":
        message["refusal"] = turn.text
    if turn.reasoning:
        message["reasoning_content"] = turn.reasoning
    if turn.tools:
        message |= {"content": turn.text or None, "tool_calls": _render_tools(turn)}
    choice: Body = {
        "index": 0,
        "message": message,
        "finish_reason": _STOPS[turn.stop],
        "logprobs": None,
    }
    found = {
        "id": f"chatcmpl-{asked.digest}",
        "object": "chat.completion",
        "created": 1,
        "model": asked.model,
        "usage": count(asked, turn),
    }
    tokens = pieces(turn.text, 4)
    if asked.logprobs:
        choice["logprobs"] = {
            "content": [
                _render_logprob(token) for token in [str(one) for one in turn.tokens] or tokens
            ],
            "refusal": None,
        }
    if asked.token_ids:
        choice["token_ids"] = list(turn.tokens) or [
            zlib.crc32(token.encode()) % 50_000 for token in tokens
        ]
        found["prompt_token_ids"] = [
            zlib.crc32(token.encode()) % 50_000 for token in pieces(asked.text, 4)
        ]
    return found | {"choices": [choice]}


def stream(asked: Conversation, turn: Turn) -> list[bytes]:
    around = {
        "id": f"chatcmpl-{asked.digest}",
        "object": "chat.completion.chunk",
        "created": 1,
        "model": asked.model,
    }

    def say(delta: Body, stop: str | None = None) -> bytes:
        return render_event(
            around
            | {"choices": [{"index": 0, "delta": delta, "finish_reason": stop}], "usage": None}
        )

    said = [say({"role": "assistant", "content": ""})]
    said += [say({"reasoning_content": piece}) for piece in pieces(turn.reasoning)]
    said += [
        say({"refusal" if turn.stop == "refusal" else "content": piece})
        for piece in pieces(turn.text)
    ]
    for index, tool in enumerate(_render_tools(turn)):
        begun = tool | {"index": index, "function": tool["function"] | {"arguments": ""}}
        said.append(say({"tool_calls": [begun]}))
        arguments = pieces(tool["function"]["arguments"])
        said += [
            say({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            for piece in arguments
        ]
    usage = render_event(around | {"choices": [], "usage": count(asked, turn)})
    return [*said, say({}, _STOPS[turn.stop]), usage, b"data: [DONE]\n\n"]


def count(asked: Conversation, turn: Turn) -> Body:
    """Input includes what was cached."""
    read_in, said = asked.count_input(turn), asked.count_output(turn)
    return {
        "prompt_tokens": read_in,
        "completion_tokens": said,
        "total_tokens": read_in + said,
        "prompt_tokens_details": {
            "cached_tokens": turn.cached,
            "cache_write_tokens": turn.cache_write,
        },
        "completion_tokens_details": {"reasoning_tokens": turn.thought},
    }


def _render_tools(turn: Turn) -> list[Body]:
    return [
        {
            "id": f"call_{number}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for number, (name, arguments) in enumerate(turn.tools)
    ]


def _render_logprob(token: str) -> Body:
    return {"token": token, "logprob": -0.5, "bytes": list(token.encode()), "top_logprobs": []}
