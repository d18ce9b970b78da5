"""Input tokens as a server counts them itself, before anything is asked of its models: exact, and
free.

Anthropic: /v1/messages/count_tokens · Responses: /responses/input_tokens · servers of one's own
(vLLM, SGLang): /tokenize
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field

from envmill.base.errors import EnvMillError
from envmill.base.settings import Endpoint, Settings
from envmill.models.anthropic import Messages
from envmill.models.base import Request
from envmill.models.connection import ApiConnection
from envmill.models.dialect import ModelTerms
from envmill.models.responses import Responses
from envmill.models.role_models import VENDORS, find_endpoint
from envmill.models.shape import take_count
from envmill.models.spec import Spec
from schemas.base import Json

_MOST, _AT_ONCE = (
    64,
    8,
)  # requests counted of one prompt, and at once; the rest are as long as these on average
_PATIENCE = 20.0  # seconds for all of them


@dataclass(frozen=True)
class Count:
    """Input tokens of some requests."""

    tokens: float
    """Of all of them."""
    counted: int
    """How many were counted; the rest is their average."""
    of: int

    @property
    def told(self) -> str:
        """How they were counted, in a word."""
        return "counted" if self.counted == self.of else f"counted ({self.counted} of {self.of})"


@dataclass(frozen=True)
class _Question:
    path: str
    body: dict[str, Json]
    answer: str
    """Field of the number."""


@dataclass
class Scales:
    """Counts at the servers that can, and remembers those that cannot."""

    settings: Settings
    _cannot: set[Spec] = field(default_factory=set[Spec])

    async def weigh(self, spec: Spec, requests: Sequence[Request]) -> Count | None:
        """None where the server does not count, is not set, or cannot be reached: an estimate goes
        on without it."""
        chosen = (
            [requests[number * len(requests) // _MOST] for number in range(_MOST)]
            if len(requests) > _MOST
            else [*requests]
        )
        if spec.direct.provider not in VENDORS or spec in self._cannot or not chosen:
            return None
        try:
            found = await self._count(spec.direct, chosen)
        except (EnvMillError, TimeoutError):
            found = [0]
        if not all(found):
            self._cannot.add(spec)
            return None
        return Count(sum(found) * len(requests) / len(chosen), len(chosen), len(requests))

    async def _count(self, spec: Spec, requests: Sequence[Request]) -> list[int]:
        endpoint, gate = find_endpoint(spec, self.settings), asyncio.Semaphore(_AT_ONCE)
        connection = ApiConnection(VENDORS[spec.provider][0], endpoint)
        connection.prepare()  # before the clock starts

        async def count(request: Request) -> int:
            question = _write(spec, request, endpoint)
            if question is None:
                return 0
            async with gate:
                return take_count(
                    (await connection.post(question.path, question.body, str(spec))).get(
                        question.answer
                    )
                )

        try:
            async with asyncio.timeout(_PATIENCE):
                first = await count(requests[0])
                return [first, *await asyncio.gather(*map(count, requests[1:]))] if first else [0]
        finally:
            await connection.close()


def _write(spec: Spec, request: Request, endpoint: Endpoint) -> _Question | None:
    """What the request itself would send, as far as it is read. None for OpenAI's chat completions,
    which are not counted."""
    dialect = VENDORS[spec.provider][1]()
    body = dialect.write(request, spec.model, ModelTerms(own=not endpoint.url)).body
    if isinstance(dialect, Messages):
        return _Question(
            "/v1/messages/count_tokens",
            _pick(body, "model", "system", "messages", "tools", "output_config"),
            "input_tokens",
        )
    if isinstance(dialect, Responses):
        return _Question(
            "/responses/input_tokens",
            _pick(body, "model", "input", "tools", "text"),
            "input_tokens",
        )
    if not endpoint.url:
        return None
    root = endpoint.url.rstrip("/").removesuffix("/v1")
    return _Question(
        f"{root}/tokenize",
        _pick(body, "model", "messages", "tools") | {"add_generation_prompt": True},
        "count",
    )


def _pick(body: dict[str, Json], *names: str) -> dict[str, Json]:
    return {name: body[name] for name in names if name in body}
