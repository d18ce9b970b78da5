"""Chat completions: OpenAI's older format, and that of every compatible server."""

import re
from collections.abc import Sequence
from typing import ClassVar

from envmill.models.base import Completion, Message, Request, Stop, Usage
from envmill.models.dialect import (
    Form,
    ModelTerms,
    WireRequest,
    count_reasoning,
    note_dropped,
    note_form,
    pick_form,
    read_call,
    refuse_shape,
    render_arguments,
)
from envmill.models.shape import take_count, take_number, take_object, take_objects, take_text
from envmill.models.streams import gather_chat
from schemas.base import Json, canonical_json, is_array

_STOPS: dict[str, Stop] = {
    "stop": "end",
    "length": "length",
    "tool_calls": "tool",
    "function_call": "tool",
    "content_filter": "filter",
}
_BROKEN_OFF = {"abort", "error"}
"""What servers say of a reply they gave up themselves."""
_THINKING = re.compile(r"\s*(?:<think(?:ing)?>)?(.*?)</think(?:ing)?>\s*", re.DOTALL)
"""Servers without a reasoning parser leave it in the text; templates that open it themselves show
only its end."""
_THOUGHTS = frozenset({"reasoning", "reasoning_content"})
_TOKEN = re.compile(r"token_id:(\d+)")


class Chat:
    """`POST /chat/completions`."""

    path = "/chat/completions"
    optional = frozenset(
        {
            "temperature",
            "top_p",
            "seed",
            "max_tokens",
            "max_completion_tokens",
            "logprobs",
            "return_token_ids",
            "return_meta_info",
            "reasoning",
            "reasoning_content",
            "response_format",
            "stream_options",
        }
    )

    streaming: ClassVar[dict[str, Json]] = {
        "stream": True,
        "stream_options": {"include_usage": True},
    }

    def write(self, request: Request, model: str, terms: ModelTerms) -> WireRequest:
        """Body of the request."""
        form, schema = pick_form(request, terms)
        knobs = _write_knobs(request, terms)
        body: dict[str, Json] = {
            "model": model,
            "messages": [_write_message(message, terms) for message in request.messages],
        }
        body |= {
            name: value
            for name, value in knobs.items()
            if value is not None and name not in terms.dropped
        }
        body |= _write_form(form, schema, request)
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "function": {
                        "name": tool.name,
                        "description": tool.description,
                        "parameters": tool.parameters,
                    },
                }
                for tool in request.tools
            ]
        dropped = tuple(
            name for name in ("temperature", "top_p", "seed", "logprobs") if name in terms.dropped
        )
        return WireRequest(body, (*note_dropped(request, dropped), *note_form(form, request)))

    def read(self, body: Json) -> Completion:
        """The first choice; nobody asks for more."""
        choices = take_objects(take_object(body).get("choices"))
        if not choices or not take_object(choices[0], "message"):
            raise refuse_shape("choice")
        return _read_choice(choices[0], take_object(body))

    def gather(self, events: Sequence[dict[str, Json]]) -> dict[str, Json]:
        """The body a stream would have been."""
        return gather_chat(events)


def _write_knobs(request: Request, terms: ModelTerms) -> dict[str, Json]:
    """Compatible servers know `max_tokens`, and pass over the newer name in silence."""
    knobs = request.sampling
    limit = "max_completion_tokens" if terms.own or "max_tokens" in terms.dropped else "max_tokens"
    if limit in terms.dropped:
        limit = "max_tokens"
    return {
        "temperature": knobs.temperature,
        "top_p": knobs.top_p,
        "seed": knobs.seed,
        limit: terms.limit(knobs.max_tokens),
        "logprobs": True if knobs.logprobs else None,
        "return_token_ids": True if knobs.logprobs and not terms.own else None,
        "return_meta_info": True if knobs.logprobs and not terms.own else None,
    }


def _write_form(form: Form, schema: Json, request: Request) -> dict[str, Json]:
    if form == "prompt" or request.reply is None:
        return {}
    if form == "object":
        return {"response_format": {"type": "json_object"}}
    return {
        "response_format": {
            "type": "json_schema",
            "json_schema": {"name": request.reply.__name__, "schema": schema, "strict": True},
        }
    }


def _write_message(message: Message, terms: ModelTerms) -> Json:
    """Thinking goes back under both names that compatible servers read: their templates leave out
    what is of no use any more."""
    if message.role == "tool":
        return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.text}
    shown = (
        message.role == "assistant"
        and message.reasoning
        and not terms.own
        and not terms.dropped & _THOUGHTS
    )
    thought = dict.fromkeys(sorted(_THOUGHTS), message.reasoning) if shown else {}
    if not message.tool_calls:
        return {"role": message.role, "content": message.text, **thought}
    calls = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": canonical_json(render_arguments(call))},
        }
        for call in message.tool_calls
    ]
    return {"role": "assistant", "content": message.text or None, "tool_calls": calls, **thought}


def _read_choice(choice: dict[str, Json], body: dict[str, Json]) -> Completion:
    message, finish = take_object(choice, "message"), take_text(choice.get("finish_reason"))
    if finish in _BROKEN_OFF:
        raise refuse_shape(f"whole reply ({finish})")
    calls = tuple(
        read_call(take_text(call.get("id")), take_text(made.get("name")), made.get("arguments"))
        for call in take_objects(message.get("tool_calls"))
        if (made := take_object(call, "function"))
    )
    refusal = take_text(message.get("refusal"))
    thought, text = _split_thinking(_read_content(message.get("content")))
    reasoning = (
        take_text(message.get("reasoning_content"))
        or take_text(message.get("reasoning"))
        or thought
    )
    stop: Stop = "refusal" if refusal else _STOPS.get(finish, "end")
    token_ids, logprobs = _read_tokens(choice)
    return Completion(
        text=refusal or text,
        tool_calls=calls,
        reasoning=reasoning,
        stop="tool" if calls and stop == "end" else stop,
        usage=_read_usage(take_object(body, "usage")),
        model=take_text(body.get("model")),
        token_ids=token_ids,
        logprobs=logprobs,
        notes=() if take_object(body, "usage") else ("the server names no usage",),
    )


def _read_content(content: Json) -> str:
    """Some gateways answer in parts, as some requests are written."""
    return (
        content
        if isinstance(content, str)
        else "".join(take_text(part.get("text")) for part in take_objects(content))
    )


def _split_thinking(text: str) -> tuple[str, str]:
    found = _THINKING.match(text)
    return (found[1].strip(), text[found.end() :]) if found else ("", text)


def _read_usage(usage: dict[str, Json]) -> Usage:
    given, output = (
        take_object(usage, "prompt_tokens_details"),
        take_count(usage.get("completion_tokens")),
    )
    return Usage(
        input=take_count(usage.get("prompt_tokens")),
        output=output,
        cached=take_count(given.get("cached_tokens"))
        or take_count(usage.get("prompt_cache_hit_tokens")),
        cache_write=take_count(given.get("cache_write_tokens")),
        reasoning=count_reasoning(output, _count_thought(usage)),
    )


def _count_thought(usage: dict[str, Json]) -> int:
    """SGLang names them beside the others."""
    return take_count(
        take_object(usage, "completion_tokens_details").get("reasoning_tokens")
    ) or take_count(usage.get("reasoning_tokens"))


def _read_pairs(choice: dict[str, Json]) -> list[tuple[float, int]]:
    """(log probability, token id) as SGLang's older versions give them."""
    given: Json = take_object(choice, "meta_info").get("output_token_logprobs")
    pairs = (
        [(take_number(one[0]), one[1]) for one in given if is_array(one) and len(one) > 1]
        if is_array(given)
        else []
    )
    found = [
        (logprob, token)
        for logprob, token in pairs
        if logprob is not None and isinstance(token, int)
    ]
    return found if len(found) == len(pairs) else []


def _read_tokens(
    choice: dict[str, Json],
) -> tuple[tuple[int, ...] | None, tuple[float, ...] | None]:
    pairs = _read_pairs(choice)
    told = take_objects(take_object(choice, "logprobs").get("content"))
    logprobs = [take_number(token.get("logprob")) for token in told]
    matches = [_TOKEN.fullmatch(take_text(token.get("token"))) for token in told]
    listed: Json = choice.get("token_ids")
    ids = (
        [one for one in listed if isinstance(one, int)]
        if is_array(listed)
        else [int(one[1]) for one in matches if one]
    )
    known = [one for one in logprobs if one is not None]
    if not told:
        known = [logprob for logprob, _ in pairs]
    whole = known and len(known) == (len(told) or len(pairs))
    return tuple(ids or [token for _, token in pairs]) or None, tuple(known) if whole else None
