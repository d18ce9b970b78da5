"""A model as the policy: its turns through the door, calls side by side, replies by call id, its
own thinking handed back.

heard ─► messages ─► door (reply known? then free) ─► turn: words, calls, or calls that cannot be read
"""

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from envmill.agents.base import MalformedCall, Speaker, Turn, TurnInput
from envmill.agents.briefing import brief_agent
from envmill.agents.log import MALFORMED, describe_reply, render_content
from envmill.base.errors import BadRequest
from envmill.kinds.dialogue.plan import list_unlocking
from envmill.language.words import find_words, normalise
from envmill.models.base import Completion, Message, Sampling, ToolCall, ToolSpec
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession
from envmill.sandbox import Observation
from schemas.base import Json, canonical_json
from schemas.environment import Call, Environment, Tool
from schemas.scenario import CallPattern
from schemas.turns import PolicyInput

PROMPT = Prompt.load(Path(__file__).parent / "prompts" / "policy.md", PolicyInput)
_TOO_LONG = re.compile(
    r"context_length_exceeded|maximum context length|prompt is too long|context window|too many "
    r"tokens|maximum model length",
    re.IGNORECASE,
)
"""What servers say of a conversation that no longer fits."""


class ModelPolicy:
    """Whatever model plays the role `policy`."""

    name = "model"

    def __init__(self, sampling: Sampling = Sampling()) -> None:  # noqa: B008  frozen
        self._sampling = sampling

    def keep_tokens(self) -> "ModelPolicy":
        """The same policy, whose server is asked for the ids and log probabilities of what it
        samples."""
        return ModelPolicy(replace(self._sampling, logprobs=True))

    def open(
        self,
        environment: Environment,
        clock: str,
        models: ModelSession,
        attempt: int,
        tokens: int | None,
    ) -> Speaker:
        """Start one attempt; its number is what makes it another sample of the same
        conversation."""
        return _Player(
            environment,
            clock,
            models,
            attempt,
            replace(self._sampling, max_tokens=self._sampling.max_tokens or tokens),
        )


class _Player:
    """One attempt."""

    listens = True

    def __init__(
        self,
        environment: Environment,
        clock: str,
        models: ModelSession,
        attempt: int,
        sampling: Sampling,
    ) -> None:
        self._account, self._attempt, self._sampling = models, attempt, sampling
        self._inputs = PolicyInput(policy_document=brief_agent(environment, clock))
        shown = [tool for tool in environment.shown if "agent" in tool.actors]
        self._tools = [_specify(tool) for tool in shown if not tool.discoverable]
        self._undiscovered = [tool for tool in shown if tool.discoverable]
        self._unlocking = list_unlocking(environment)
        rules = PROMPT.render(self._inputs, None).strip()
        self._messages = [Message("system", rules)] if rules else []
        self._calls: tuple[ToolCall, ...] = ()
        self._ids: set[str] = set()

    async def speak(self, heard: TurnInput) -> Turn:
        self._messages += self._list_messages(heard)
        try:
            said = await self._account.converse(
                PROMPT,
                self._inputs,
                self._messages,
                tools=self._tools,
                role="policy",
                sampling=self._sampling,
                sample=self._attempt,
            )
        except BadRequest as error:
            if _TOO_LONG.search(f"{error.facts.get('code', '')} {error.message}"):
                return Turn(cut=True)
            raise
        self._calls = tuple(self._name_calls(said.tool_calls))
        self._messages.append(replace(said.to_message(), tool_calls=self._calls))
        return _read_turn(said)

    def _list_messages(self, heard: TurnInput) -> Iterator[Message]:
        if heard.event == "replies":
            for call, reply in zip(self._calls, heard.replies, strict=True):
                content = MALFORMED if reply is None else describe_reply(reply)
                self._discover(call, reply, render_content(content))
                yield Message("tool", render_content(content), tool_call_id=call.id)
        else:
            yield Message("user", heard.text or canonical_json(heard.notices))

    def _discover(self, call: ToolCall, reply: Observation | None, told: str) -> None:
        """A tool is offered once the call that unlocks it was made; where no call is known to, once
        a reply names it."""
        plain = normalise(told)
        found = [
            tool
            for tool in self._undiscovered
            if (
                _unlocks(self._unlocking[tool.name], call, reply)
                if tool.name in self._unlocking
                else find_words(plain, tool.name)
            )
        ]
        self._tools = [*self._tools, *map(_specify, found)]
        self._undiscovered = [tool for tool in self._undiscovered if tool not in found]

    def _name_calls(self, calls: tuple[ToolCall, ...]) -> Iterator[ToolCall]:
        """Some servers number the calls of each turn anew, or not at all: each needs an id of its
        own to be answered by."""
        for call in calls:
            given = (
                call.id
                if call.id and call.id not in self._ids
                else f"call_{len(self._ids) + 1}_{self._attempt}"
            )
            self._ids.add(given)
            yield replace(call, id=given)


def _unlocks(by: CallPattern, call: ToolCall, reply: Observation | None) -> bool:
    taken: Json = call.arguments or {}
    return (
        reply is not None
        and reply.outcome == "ok"
        and call.name == by.name
        and all(taken.get(name) == value for name, value in by.arguments.items())
    )


def _specify(tool: Tool) -> ToolSpec:
    return ToolSpec(tool.name, tool.description, tool.parameters)


def _read_turn(said: Completion) -> Turn:
    calls = [
        MalformedCall(one.name, one.raw)
        if one.arguments is None
        else Call(name=one.name, arguments=one.arguments)
        for one in said.tool_calls
    ]
    took = said.usage + said.recalled
    return Turn(
        said.text,
        calls,
        reasoning=said.reasoning,
        cut=said.stop == "length" and not calls,
        usage=took,
        sampled=_read_sampled(said),
    )


def _read_sampled(said: Completion) -> Json:
    """Tokens as the server sampled them. Log probabilities without ids say nothing of tokens."""
    if not said.token_ids:
        return None
    known = said.logprobs is not None and len(said.logprobs) == len(said.token_ids)
    return {
        "ids": list(said.token_ids),
        "logprobs": list(said.logprobs) if known and said.logprobs else None,
    }
