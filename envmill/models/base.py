"""What a provider is: one question in, one text out, or an outage."""

from dataclasses import dataclass
from typing import Literal, Protocol

from envmill.models.prompt import Prompt
from schemas.base import Contract, Json, digest


@dataclass(frozen=True)
class Message:
    """One message of a request."""

    role: Literal["user", "assistant"]
    text: str


@dataclass(frozen=True)
class Request:
    """One question to a model. Its key decides whether a stored reply answers it."""

    prompt: Prompt
    inputs: Json
    messages: tuple[Message, ...]
    reply: type[Contract]
    seed: int
    sample: int
    step: str
    subject: str

    def key(self, model: str) -> str:
        """Step and subject stay out: the same question deserves the same answer."""
        said = [[message.role, message.text] for message in self.messages]
        return digest([model, self.prompt.name, said, self.reply.model_json_schema(), self.seed])


@dataclass(frozen=True)
class Completion:
    """What came back."""

    text: str
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


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
        self.tokens += completion.tokens_in + completion.tokens_out
        self.cost = None if self.cost is None or completion.cost is None else self.cost + completion.cost
