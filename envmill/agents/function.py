"""A function as the policy: it gets messages and tools in OpenAI's form, and returns words or a
message with calls.

heard ─► messages ─► function, in a thread ─► text or message ─► turn
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pydantic import BaseModel, ValidationError

from envmill.agents.base import MalformedCall, Speaker, Turn, TurnInput
from envmill.agents.briefing import brief_agent
from envmill.agents.log import MALFORMED, describe_reply, render_content
from envmill.base.errors import SettingsError
from envmill.models.mend import load_object
from schemas.base import Json, canonical_json
from schemas.environment import Call, Environment

Respond: TypeAlias = Callable[
    [list[dict[str, Any]], list[dict[str, Any]]], "str | Mapping[str, Any]"
]
"""Messages and tools in, an answer out: words, or a message like `{"content": …, "tool_calls":
[…]}`."""
_SHAPE = (
    'return words, or a message like {"content": "…", "tool_calls": [{"id": "…", "function": '
    '{"name": "…", "arguments": "{…}"}}]}; '
    'a call may also be {"name": "…", "arguments": {…}}'
)


class _Called(BaseModel):
    name: str
    arguments: str | dict[str, Json] | None = None

    @property
    def raw(self) -> str:
        return (
            self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments or {})
        )


class _Asked(BaseModel):
    id: str = ""
    function: _Called


class _Answer(BaseModel):
    content: str | None = None
    tool_calls: list[_Asked | _Called] | None = None


class FunctionPolicy:
    """A policy that asks a function for each turn. What the function raises ends the rollout and
    reaches the caller."""

    def __init__(self, respond: Respond, name: str = "") -> None:
        self.respond = respond
        self.name = name or getattr(respond, "__name__", "function")

    def open(self, environment: Environment, clock: str) -> Speaker:
        """Start one attempt."""
        return _FunctionSpeaker(self.respond, environment, clock)


class _FunctionSpeaker:
    listens = True

    def __init__(self, respond: Respond, environment: Environment, clock: str) -> None:
        self._respond = respond
        told = brief_agent(environment, clock)
        self._messages: list[dict[str, Any]] = [{"role": "system", "content": told}] if told else []
        self._tools: list[dict[str, Any]] = [
            {
                "type": "function",
                "function": {
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                },
            }
            for tool in environment.shown
            if "agent" in tool.actors
        ]
        self._ids: list[str] = []
        self._count = 0

    async def speak(self, heard: TurnInput) -> Turn:
        self._add_heard(heard)
        answer = _read(
            await asyncio.to_thread(
                self._respond, [dict(one) for one in self._messages], self._tools
            )
        )
        asked = [self._number(call) for call in answer.tool_calls or ()]
        self._ids = [number for number, _ in asked]
        said: dict[str, Any] = {"role": "assistant", "content": answer.content or ""}
        self._messages.append(
            said
            | ({"tool_calls": [_render(number, call) for number, call in asked]} if asked else {})
        )
        return Turn(answer.content or "", [_parse(call) for _, call in asked])

    def _add_heard(self, heard: TurnInput) -> None:
        if heard.event != "replies":
            self._messages.append(
                {"role": "user", "content": heard.text or canonical_json(heard.notices)}
            )
            return
        for number, reply in zip(self._ids, heard.replies, strict=True):
            content = render_content(MALFORMED if reply is None else describe_reply(reply))
            self._messages.append({"role": "tool", "tool_call_id": number, "content": content})

    def _number(self, call: _Asked | _Called) -> tuple[str, _Called]:
        self._count += 1
        number = call.id if isinstance(call, _Asked) else ""
        return number or f"call_{self._count}", call.function if isinstance(call, _Asked) else call


def _read(answer: Any) -> _Answer:
    try:
        return (
            _Answer(content=answer) if isinstance(answer, str) else _Answer.model_validate(answer)
        )
    except ValidationError as error:
        raise SettingsError(
            f"The policy's answer cannot be read ({error.error_count()} faults, first: "
            f"{error.errors()[0]['msg']}): {_SHAPE}."
        ) from None


def _render(number: str, call: _Called) -> dict[str, Any]:
    return {
        "id": number,
        "type": "function",
        "function": {"name": call.name, "arguments": call.raw},
    }


def _parse(call: _Called) -> Call | MalformedCall:
    arguments = load_object(call.raw) if call.raw.strip() else {}
    return (
        MalformedCall(call.name, call.raw)
        if isinstance(arguments, str)
        else Call(name=call.name, arguments=arguments)
    )
