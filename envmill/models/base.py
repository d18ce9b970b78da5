"""What a provider is: one request in, one completion out, or an error that says what happened."""

from dataclasses import dataclass, replace
from typing import Literal, Protocol

from envmill.models.prompt import Prompt
from envmill.models.structured import render_schema
from schemas.base import Contract, Json, digest

Role = Literal["author", "critic", "judge", "policy", "user"]
"""Who a model plays in a run."""

Stop = Literal["end", "length", "tool", "refusal", "filter"]
"""Why a completion ended. What to do about it is the account's to decide, never the provider's."""


@dataclass(frozen=True)
class ToolCall:
    """One call a model made, or is shown to have made."""

    id: str
    """The vendor's id, which the tool's message repeats."""
    name: str
    """Tool."""
    arguments: Json | None
    """The arguments object; None when what came is not one."""
    raw: str
    """Arguments as they came, so that malformed ones can be quoted."""


@dataclass(frozen=True)
class Message:
    """One message of a conversation."""

    role: Literal["system", "user", "assistant", "tool"]
    text: str
    reasoning: str = ""
    """Thinking the model showed; sent back to compatible servers alone, since vendors take only
    what they signed."""
    tool_calls: tuple[ToolCall, ...] = ()
    """What an assistant message calls."""
    tool_call_id: str = ""
    """Which call a tool message answers."""
    signed: tuple[Json, ...] = ()
    """Reasoning as the vendor signed it, sent back before the calls it led to; others never see
    it."""


@dataclass(frozen=True)
class ToolSpec:
    """A tool as a model is told of it."""

    name: str
    description: str
    parameters: Json
    """JSON Schema of the arguments object."""


@dataclass(frozen=True)
class Sampling:
    """What to ask of the sampler; None leaves the vendor's default."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    """Best effort at the vendor's."""
    max_tokens: int | None = None
    """Most output tokens, reasoning included."""
    logprobs: bool = False
    """Ask for token ids and log probabilities, where a server offers them."""


@dataclass(frozen=True)
class Request:
    """One question to a model. Its key decides whether a stored reply answers it."""

    prompt: Prompt
    """Prompt it was rendered from."""
    inputs: Json
    """Typed inputs of the prompt; the offline author answers these instead of the text."""
    messages: tuple[Message, ...]
    """What is sent."""
    reply: type[Contract] | None
    """Record the text must become; None takes free text and tool calls."""
    seed: int
    """Seed of the run."""
    sample: int
    """Which of several answers to the same question."""
    step: str
    """Step that asks."""
    subject: str
    """Candidate it is for."""
    tools: tuple[ToolSpec, ...] = ()
    """Tools the model may call."""
    sampling: Sampling = Sampling()
    """Knobs."""
    role: Role = "author"
    """Whose model is asked."""
    repair: bool = False
    """Whether it asks again after a reply that was no use or that a gate complained about."""
    enforced: bool = True
    """Whether the provider may enforce the reply's schema; not on the rest of a reply that was cut
    off."""

    def key(self, model: str) -> str:
        """Hash of what is sent, and to whom. Step and subject stay out: the same question deserves
        the same answer."""
        said = [_render(message) for message in self.messages]
        tools = [[tool.name, tool.description, tool.parameters] for tool in self.tools]
        schema = None if self.reply is None else render_schema(self.reply)
        knobs = self.sampling
        asked = [knobs.temperature, knobs.top_p, knobs.seed, knobs.max_tokens, knobs.logprobs]
        return digest([model, self.prompt.name, said, tools, schema, asked, self.seed])


def _render(message: Message) -> Json:
    calls = [[call.id, call.name, call.raw] for call in message.tool_calls]
    return [message.role, message.text, calls, message.tool_call_id, *message.signed]


@dataclass(frozen=True)
class Usage:
    """Tokens of one call, the same at every vendor."""

    input: int = 0
    """Input tokens, those read from and written to a cache included."""
    output: int = 0
    """Output tokens, reasoning included."""
    cached: int = 0
    """Part of the input that was read from a cache."""
    cache_write: int = 0
    """Part of the input that was written to a cache."""
    reasoning: int = 0
    """Part of the output that was reasoning."""

    @property
    def total(self) -> int:
        """Input and output."""
        return self.input + self.output

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            self.input + other.input,
            self.output + other.output,
            self.cached + other.cached,
            self.cache_write + other.cache_write,
            self.reasoning + other.reasoning,
        )


@dataclass(frozen=True)
class Completion:
    """What came back."""

    text: str
    tool_calls: tuple[ToolCall, ...] = ()
    reasoning: str = ""
    """Thinking the model showed beside its text."""
    stop: Stop = "end"
    usage: Usage = Usage()
    model: str = ""
    """Model as the server named it; empty when it did not."""
    token_ids: tuple[int, ...] | None = None
    """Output tokens, when asked for and offered."""
    logprobs: tuple[float, ...] | None = None
    """Log probability of each output token, when asked for and offered."""
    notes: tuple[str, ...] = ()
    """What could not be done as asked: a knob the vendor lacks, a schema it could not take."""
    signed: tuple[Json, ...] = ()
    """Reasoning behind its tool calls as the vendor signed it, for the next turn."""
    cost: float | None = None
    """Money; the door fills it in, None while the price is unknown."""
    recalled: Usage = Usage()
    """What a reply that was known already took when it was first given; nothing of it is paid
    now."""

    def to_message(self) -> Message:
        """The turn as the conversation goes on from it."""
        return Message("assistant", self.text, self.reasoning, self.tool_calls, signed=self.signed)

    def priced(self, cost: float | None) -> "Completion":
        """The same with its price."""
        return replace(self, cost=cost)


class Provider(Protocol):
    """Answers requests; raises Outage when it cannot be reached, and never retries by itself."""

    name: str
    model: str

    async def complete(self, request: Request) -> Completion:
        """Answer one request."""
        ...

    async def close(self) -> None:
        """Give back connections."""
        ...


@dataclass
class Spent:
    """What one subject has cost so far."""

    tokens: int = 0
    cost: float | None = 0.0

    def add(self, completion: Completion) -> None:
        """An unknown price makes the sum unknown."""
        self.tokens += completion.usage.total
        self.cost = (
            None if self.cost is None or completion.cost is None else self.cost + completion.cost
        )
