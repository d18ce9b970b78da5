"""Answers that came in pieces, put together as the whole answer they would have been.

event stream ─► events ─► one body, read like any other; a stream without its end is an outage
"""

import re
from collections.abc import Sequence

import orjson

from envmill.base.errors import Outage
from envmill.models.shape import take_count, take_object, take_objects, take_text
from schemas.base import Json, is_array, is_object

Event = dict[str, Json]

_STATUS = {
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "overloaded_error": 529,
    "authentication_error": 401,
    "permission_error": 403,
    "invalid_request_error": 400,
}
"""What an error inside a stream would have been as a status; any other is the server's own."""


_WORDS = re.compile(
    rb'_delta"|\.delta"|"(?:content|reasoning|reasoning_content|refusal|arguments)": ?"[^"]'
)
"""Words of an answer, in the pieces of any format; heads of answers, pings and comments have
none."""


def has_begun(piece: bytes) -> bool:
    """Whether a piece of a stream holds words of the answer."""
    return _WORDS.search(piece) is not None


def read_events(content: bytes) -> list[Event]:
    """The JSON objects of an event stream."""
    events: list[Event] = []
    for block in content.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n\n"):
        data = b"\n".join(
            line[5:].removeprefix(b" ") for line in block.split(b"\n") if line.startswith(b"data:")
        )
        try:
            event = orjson.loads(data)
        except orjson.JSONDecodeError:  # `[DONE]`, comments, and the piece a broken connection left
            continue
        if is_object(event):
            events.append(event)
    return events


def find_error(events: Sequence[Event]) -> tuple[int, Event] | None:
    """Status and body of an error inside a stream."""
    for event in events:
        inner = event.get("error") or (event if event.get("type") == "error" else None)
        if inner:
            told: Event = inner if is_object(inner) else {"message": str(inner)}
            names = (take_text(told.get("code")), take_text(told.get("type")))
            code: Json = told.get("code")
            status = (
                code
                if isinstance(code, int) and 400 <= code < 600
                else next((_STATUS[name] for name in names if name in _STATUS), 500)
            )
            return status, {"error": told}
    return None


def gather_chat(events: Sequence[Event]) -> Event:
    """Chunks of chat completions; the usage comes last, without a choice."""
    whole: Event = {"model": "", "usage": None}
    message: Event = {}
    choice: Event = {"message": message, "finish_reason": None}
    calls: dict[int, Event] = {}
    for event in events:
        whole["model"] = whole["model"] or take_text(event.get("model"))
        whole["usage"] = take_object(event, "usage") or whole["usage"]
        for piece in take_objects(event.get("choices"))[:1]:
            _add_delta(message, calls, take_object(piece, "delta"))
            _add_tokens(choice, piece)
            choice["finish_reason"] = piece.get("finish_reason") or choice["finish_reason"]
    if choice["finish_reason"] is None:
        raise _refuse_end()
    return whole | {
        "choices": [
            choice
            | {"message": message | {"tool_calls": [calls[place] for place in sorted(calls)]}}
        ]
    }


def _add_delta(message: Event, calls: dict[int, Event], delta: Event) -> None:
    for name in ("content", "reasoning_content", "reasoning", "refusal"):
        if piece := take_text(delta.get(name)):
            message[name] = take_text(message.get(name)) + piece
    for piece in take_objects(delta.get("tool_calls")):
        call = calls.setdefault(
            take_count(piece.get("index")), {"id": "", "function": {"name": "", "arguments": ""}}
        )
        call["id"] = call["id"] or take_text(piece.get("id"))
        for name in ("name", "arguments"):
            call["function"][name] += take_text(take_object(piece, "function").get(name))


def _add_tokens(choice: Event, piece: Event) -> None:
    if told := take_objects(take_object(piece, "logprobs").get("content")):
        choice.setdefault("logprobs", {"content": []})["content"] += told
    if is_array(ids := piece.get("token_ids")):
        choice.setdefault("token_ids", []).extend(ids)


def gather_response(events: Sequence[Event]) -> Event:
    """The last event of a response holds it whole."""
    ends = ("response.completed", "response.incomplete", "response.failed")
    for event in reversed(events):
        if event.get("type") in ends and (response := take_object(event, "response")):
            return response
    raise _refuse_end()


def gather_message(events: Sequence[Event]) -> Event:
    """Blocks of a message; arguments stay text, so that malformed ones can be quoted."""
    message: Event = {}
    blocks: dict[int, Event] = {}
    for event in events:
        place = take_count(event.get("index"))
        match event.get("type"):
            case "message_start":
                message |= take_object(event, "message")
            case "content_block_start":
                block = take_object(event, "content_block")
                blocks[place] = block | {"input": ""} if "input" in block else dict(block)
            case "content_block_delta" if place in blocks:
                _add_piece(blocks[place], take_object(event, "delta"))
            case "message_delta":
                usage = take_object(message, "usage") | take_object(event, "usage")
                message |= take_object(event, "delta") | {"usage": usage}
            case _:
                pass
    if not any(event.get("type") == "message_stop" for event in events):
        raise _refuse_end()
    return message | {"content": [blocks[place] for place in sorted(blocks)]}


def _add_piece(block: Event, delta: Event) -> None:
    for name, field in (
        ("text", "text"),
        ("thinking", "thinking"),
        ("signature", "signature"),
        ("partial_json", "input"),
    ):
        if piece := take_text(delta.get(name)):
            block[field] = take_text(block.get(field)) + piece


def _refuse_end() -> Outage:
    return Outage(
        "The stream broke off before its end. Retry the run; if it happens again, check the proxies between this machine and the server.",
        sent=True,
    )
