"""Experience: what calls of a prompt took so far, so that the next can be foreseen before it is
sent."""

from dataclasses import dataclass, field

from envmill.models.base import Request, Usage
from schemas.base import canonical_json

_PER_TOKEN = (
    3.0  # characters, until a model has shown its own: on the safe side for English and for code
)
_GUESS = 1024  # output tokens of a prompt that was never answered
_WEIGHT = 0.2  # of the newest reply in the running ratio


def count_characters(request: Request) -> int:
    """Characters a request sends, tools and schema included."""
    said = sum(
        len(message.text) + sum(len(call.raw) for call in message.tool_calls)
        for message in request.messages
    )
    tools = sum(
        len(tool.name) + len(tool.description) + len(canonical_json(tool.parameters))
        for tool in request.tools
    )
    return said + tools


@dataclass
class PromptStatistics:
    """Of one model."""

    per_token: float = _PER_TOKEN
    """Characters sent per input token, as far as seen."""
    outputs: dict[str, int] = field(default_factory=dict[str, int])
    """Prompt → output tokens of its longest reply."""

    def foresee(self, request: Request, characters: int) -> Usage:
        """What a call will take, at most by what is known."""
        most = request.sampling.max_tokens
        output = self.outputs.get(request.prompt.name, _GUESS)
        return Usage(
            input=round(characters / self.per_token),
            output=output if most is None else min(output, most),
        )

    def knows(self, request: Request) -> bool:
        """Whether the prompt was ever answered."""
        return request.prompt.name in self.outputs

    def learn(self, request: Request, characters: int, usage: Usage) -> None:
        """A reply came."""
        self.outputs[request.prompt.name] = max(
            self.outputs.get(request.prompt.name, 0), usage.output
        )
        if usage.input and characters:
            seen = characters / usage.input
            self.per_token = (
                seen
                if self.per_token == _PER_TOKEN
                else self.per_token + _WEIGHT * (seen - self.per_token)
            )
