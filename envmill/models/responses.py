"""The Responses API: OpenAI's newer format. Nothing is kept at the vendor's."""

from collections.abc import Sequence
from typing import ClassVar

from envmill.base.errors import BadRequest, Outage, Throttled
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
from envmill.models.streams import gather_response
from schemas.base import Json, canonical_json

_CUT: dict[str, Stop] = {"max_output_tokens": "length", "content_filter": "filter"}
_POLICY = ("invalid_prompt", "policy")
"""Parts of the error codes of questions that the vendor will not answer."""


class Responses:
    """`POST /responses`."""

    path = "/responses"
    optional = frozenset({"temperature", "top_p", "max_output_tokens", "include", "text", "store"})

    streaming: ClassVar[dict[str, Json]] = {"stream": True}

    def write(self, request: Request, model: str, terms: ModelTerms) -> WireRequest:
        """Body of the request."""
        form, schema = pick_form(request, terms)
        knobs = request.sampling
        fields: dict[str, Json] = {
            "temperature": knobs.temperature,
            "top_p": knobs.top_p,
            "max_output_tokens": terms.limit(knobs.max_tokens),
            "include": _write_include(request) or None,
            "text": _write_form(form, schema, request),
            "store": False,
        }
        body: dict[str, Json] = {
            "model": model,
            "input": [item for message in request.messages for item in _write_message(message)],
        }
        body |= {
            name: value
            for name, value in fields.items()
            if value is not None and name not in terms.dropped
        }
        if request.tools:
            body["tools"] = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in request.tools
            ]
        dropped = tuple(name for name in ("temperature", "top_p") if name in terms.dropped)
        return WireRequest(
            body, (*note_dropped(request, ("seed", *dropped)), *note_form(form, request))
        )

    def read(self, body: Json) -> Completion:
        """Messages, calls and reasoning of one response."""
        response = take_object(body)
        if filtered := _check_status(response):
            return filtered
        items = take_objects(response.get("output"))
        if not items and not _find_cut(response):
            raise refuse_shape("output")
        return _read_items(items, response)

    def gather(self, events: Sequence[dict[str, Json]]) -> dict[str, Json]:
        """The body a stream would have been."""
        return gather_response(events)


def _write_include(request: Request) -> list[str]:
    """Nothing is kept at the vendor's, so the reasoning behind calls comes sealed, for the next
    turn."""
    wanted = {
        "message.output_text.logprobs": request.sampling.logprobs,
        "reasoning.encrypted_content": bool(request.tools),
    }
    return [name for name, asked in wanted.items() if asked]


def _write_form(form: Form, schema: Json, request: Request) -> Json:
    if form == "prompt" or request.reply is None:
        return None
    if form == "object":
        return {"format": {"type": "json_object"}}
    return {
        "format": {
            "type": "json_schema",
            "name": request.reply.__name__,
            "schema": schema,
            "strict": True,
        }
    }


def _write_message(message: Message) -> list[Json]:
    """Calls and their results are items of their own. Ids of items stay out: with them the vendor
    wants its reasoning back."""
    if message.role == "tool":
        return [
            {
                "type": "function_call_output",
                "call_id": message.tool_call_id,
                "output": message.text,
            }
        ]
    said: list[Json] = (
        [{"role": message.role, "content": message.text}]
        if message.text or not message.tool_calls
        else []
    )
    calls: list[Json] = [
        {
            "type": "function_call",
            "call_id": call.id,
            "name": call.name,
            "arguments": canonical_json(render_arguments(call)),
        }
        for call in message.tool_calls
    ]
    sealed = (
        [item for item in message.signed if take_object(item).get("type") == "reasoning"]
        if calls
        else []
    )
    return sealed + said + calls


def _check_status(response: dict[str, Json]) -> Completion | None:
    """A failed response has a good status and its error inside."""
    status, error = take_text(response.get("status")), take_object(response, "error")
    if status not in ("failed", "cancelled", "queued", "in_progress"):
        return None
    code, said = take_text(error.get("code")), take_text(error.get("message"))
    if any(part in code for part in _POLICY):
        return Completion(
            said,
            stop="filter",
            usage=_read_usage(take_object(response, "usage")),
            model=take_text(response.get("model")),
        )
    if code == "rate_limit_exceeded":
        raise Throttled(
            f"The response failed: {said}. Fewer calls at once, or another model.",
            retry_after=None,
            code=code,
        )
    if status == "failed" and code and code not in ("server_error", "vector_store_timeout"):
        raise BadRequest(
            f"The response failed with {code}: {said}. Correct the request: asking again changes "
            "nothing.",
            code=code,
        )
    raise Outage(
        f"The response is {status}{f' ({code}: {said})' if code else ''}. Retry the run.", code=code
    )


def _find_cut(response: dict[str, Json]) -> Stop | None:
    if take_text(response.get("status")) != "incomplete":
        return None
    return _CUT.get(take_text(take_object(response, "incomplete_details").get("reason")), "length")


def _read_items(items: list[dict[str, Json]], response: dict[str, Json]) -> Completion:
    parts = [
        part
        for item in items
        if item.get("type") == "message"
        for part in take_objects(item.get("content"))
    ]
    refusal = "".join(
        take_text(part.get("refusal")) for part in parts if part.get("type") == "refusal"
    )
    calls = tuple(
        read_call(
            take_text(item.get("call_id")), take_text(item.get("name")), item.get("arguments")
        )
        for item in items
        if item.get("type") == "function_call"
    )
    stop: Stop = _find_cut(response) or ("refusal" if refusal else "tool" if calls else "end")
    probed = [
        take_number(token.get("logprob"))
        for part in parts
        for token in take_objects(part.get("logprobs"))
    ]
    logprobs = [one for one in probed if one is not None]
    return Completion(
        text=refusal
        or "".join(
            take_text(part.get("text")) for part in parts if part.get("type") == "output_text"
        ),
        tool_calls=calls,
        reasoning="\n\n".join(_read_reasoning(items)),
        stop=stop,
        usage=_read_usage(take_object(response, "usage")),
        model=take_text(response.get("model")),
        logprobs=tuple(logprobs) or None,
        signed=tuple(
            item
            for item in items
            if item.get("type") == "reasoning" and item.get("encrypted_content")
        )
        if calls
        else (),
        notes=() if take_object(response, "usage") else ("the server names no usage",),
    )


def _read_reasoning(items: list[dict[str, Json]]) -> list[str]:
    """The text where a server shows it, else the vendor's summary."""
    told: list[str] = []
    for item in items:
        if item.get("type") == "reasoning":
            shown = take_objects(item.get("content")) or take_objects(item.get("summary"))
            told += [text for part in shown if (text := take_text(part.get("text")))]
    return told


def _read_usage(usage: dict[str, Json]) -> Usage:
    given, output = (
        take_object(usage, "input_tokens_details"),
        take_count(usage.get("output_tokens")),
    )
    return Usage(
        input=take_count(usage.get("input_tokens")),
        output=output,
        cached=take_count(given.get("cached_tokens")),
        cache_write=take_count(given.get("cache_write_tokens")),
        reasoning=count_reasoning(
            output, take_count(take_object(usage, "output_tokens_details").get("reasoning_tokens"))
        ),
    )
