"""Responses: OpenAI's newer format, in items."""

from tests.models.vendors.conversation import Conversation, flatten
from tests.models.vendors.formats.base import Body, pieces, render_event
from tests.models.vendors.script import Turn

_UNFINISHED = {"length": "max_output_tokens", "filter": "content_filter"}


def read(body: Body) -> Conversation:
    said = body.get("input") or []
    items = [{"content": said}] if isinstance(said, str) else said
    texts = [
        body.get("instructions") or "",
        *(flatten(item.get("content", item.get("output", ""))) for item in items),
    ]
    form = (body.get("text") or {}).get("format") or {}
    return Conversation(
        model=body.get("model", ""),
        text="\n".join(texts).lstrip("\n"),
        last=texts[-1],
        schema=form.get("schema"),
        limit=body.get("max_output_tokens") or 0,
        stream=bool(body.get("stream")),
    )


def answer(asked: Conversation, turn: Turn) -> Body:
    unfinished = _UNFINISHED.get(turn.stop)
    return {
        "id": f"resp_{asked.digest}",
        "object": "response",
        "created_at": 1,
        "status": "incomplete" if unfinished else "completed",
        "incomplete_details": {"reason": unfinished} if unfinished else None,
        "error": None,
        "instructions": None,
        "metadata": {},
        "model": asked.model,
        "output": _render_items(turn),
        "parallel_tool_calls": True,
        "temperature": None,
        "tool_choice": "auto",
        "tools": [],
        "top_p": None,
        "usage": _count(asked, turn),
    }


def stream(asked: Conversation, turn: Turn) -> list[bytes]:
    whole, number = answer(asked, turn), 0
    said: list[bytes] = []

    def say(kind: str, **facts: object) -> None:
        nonlocal number
        said.append(render_event({"type": kind, "sequence_number": number, **facts}, kind))
        number += 1

    begun = whole | {
        "status": "in_progress",
        "output": [],
        "usage": None,
        "incomplete_details": None,
    }
    say("response.created", response=begun)
    say("response.in_progress", response=begun)
    for index, item in enumerate(whole["output"]):
        place = {"output_index": index, "item_id": item["id"]}
        say(
            "response.output_item.added",
            output_index=index,
            item=item | ({"content": []} if item["type"] == "message" else {}),
        )
        if item["type"] == "message":
            part = item["content"][0]
            kind = "refusal" if part["type"] == "refusal" else "output_text"
            say(
                "response.content_part.added",
                **place,
                content_index=0,
                part=part | {"refusal" if kind == "refusal" else "text": ""},
            )
            for piece in pieces(turn.text):
                say(f"response.{kind}.delta", **place, content_index=0, delta=piece, logprobs=[])
            say("response.content_part.done", **place, content_index=0, part=part)
        elif item["type"] == "function_call":
            for piece in pieces(item["arguments"]):
                say("response.function_call_arguments.delta", **place, delta=piece)
            say(
                "response.function_call_arguments.done",
                **place,
                name=item["name"],
                arguments=item["arguments"],
            )
        say("response.output_item.done", output_index=index, item=item)
    say(f"response.{whole['status']}", response=whole)
    return said


def _render_items(turn: Turn) -> list[Body]:
    items: list[Body] = []
    if turn.reasoning:
        items.append(
            {
                "id": "rs_1",
                "type": "reasoning",
                "summary": [{"type": "summary_text", "text": turn.reasoning}],
            }
        )
    if turn.text or not turn.tools:
        status = "incomplete" if turn.stop in _UNFINISHED else "completed"
        items.append(
            {
                "id": "msg_1",
                "type": "message",
                "role": "assistant",
                "status": status,
                "content": [_render_text(turn)],
            }
        )
    for number, (name, arguments) in enumerate(turn.tools):
        call = {"id": f"fc_{number}", "type": "function_call", "call_id": f"call_{number}"}
        items.append(call | {"name": name, "arguments": arguments, "status": "completed"})
    return items


def _render_text(turn: Turn) -> Body:
    if turn.stop == "refusal":
        return {"type": "refusal", "refusal": turn.text}
    return {"type": "output_text", "text": turn.text, "annotations": [], "logprobs": []}


def _count(asked: Conversation, turn: Turn) -> Body:
    read_in, said = asked.count_input(turn), asked.count_output(turn)
    return {
        "input_tokens": read_in,
        "input_tokens_details": {
            "cached_tokens": turn.cached,
            "cache_write_tokens": turn.cache_write,
        },
        "output_tokens": said,
        "output_tokens_details": {"reasoning_tokens": turn.thought},
        "total_tokens": read_in + said,
    }
