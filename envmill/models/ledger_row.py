"""A ledger row of one call, and the completion back out of it."""

from datetime import UTC, datetime
from functools import cache
from typing import Any

from envmill.models.base import Completion, Provider, Request, ToolCall, Usage
from envmill.models.families import family
from schemas.base import Json
from schemas.ledger import ModelCall

_family = cache(family)


def describe(request: Request, key: str, provider: Provider, characters: int) -> dict[str, Any]:
    """What is known of a call before it ends."""
    return {
        "request": key,
        "sample": request.sample,
        "step": request.step,
        "subject": request.subject,
        "role": request.role,
        "repair": request.repair,
        "prompt": request.prompt.name,
        "prompt_hash": request.prompt.hash,
        "provider": provider.name,
        "model": provider.model,
        "family": _family(provider.model),
        "characters": characters,
        "asked_at": datetime.now(UTC).isoformat(),
    }


def describe_content(completion: Completion) -> dict[str, Any]:
    """What came, all that reuse needs to give it again."""
    return {
        "reply": completion.text,
        "served_model": completion.model,
        "stop": completion.stop,
        "tool_calls": [_render_call(call) for call in completion.tool_calls],
        "reasoning": completion.reasoning,
        "signed": completion.signed,
        "token_ids": completion.token_ids,
        "logprobs": completion.logprobs,
        "notes": completion.notes,
    }


def describe_usage(usage: Usage) -> dict[str, Any]:
    """Tokens, by their parts."""
    return {
        "tokens_in": usage.input,
        "tokens_cached": usage.cached,
        "tokens_cache_write": usage.cache_write,
        "tokens_out": usage.output,
        "tokens_reasoning": usage.reasoning,
    }


def recall(call: ModelCall) -> Completion:
    """The completion a row holds, as free as its reuse is."""
    return Completion(
        text=call.reply,
        tool_calls=tuple(ToolCall(**one) for one in call.tool_calls),
        reasoning=call.reasoning,
        signed=tuple(call.signed),
        stop=call.stop or "end",
        model=call.served_model,
        token_ids=None if call.token_ids is None else tuple(call.token_ids),
        logprobs=None if call.logprobs is None else tuple(call.logprobs),
        notes=tuple(call.notes),
        cost=0.0,
        recalled=Usage(
            call.tokens_in,
            call.tokens_out,
            call.tokens_cached,
            call.tokens_cache_write,
            call.tokens_reasoning,
        ),
    )


def _render_call(call: ToolCall) -> Json:
    return {"id": call.id, "name": call.name, "arguments": call.arguments, "raw": call.raw}
