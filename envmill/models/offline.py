"""The seat of the offline author: called in this process, or over loopback when it is served
elsewhere."""

from collections.abc import Callable, Sequence

import httpx

from envmill.base.errors import Outage
from envmill.models.base import Completion, Request
from schemas.base import Json

Author = Callable[[str, Json, int, int, float, Sequence[str]], str]
"""(prompt, inputs, seed, sample, mistakes, messages after the prompt) → reply text. Replies and
complaints take turns, replies first."""


class Offline:
    """Answers from domain knowledge; free, so its cost is a true zero."""

    name = "offline"

    def __init__(self, author: Author | None, mistakes: float, url: str = "") -> None:
        self.model = f"author/{mistakes:g}"
        self._author, self._mistakes, self._url = author, mistakes, url
        self._client = httpx.AsyncClient(timeout=30, trust_env=False) if url else None

    async def complete(self, request: Request) -> Completion:
        talk = [message.text for message in request.messages[1:]]
        if self._client is not None:
            return Completion(await self._ask(self._client, request, talk), cost=0.0)
        assert self._author is not None
        return Completion(
            self._author(
                request.prompt.name,
                request.inputs,
                request.seed,
                request.sample,
                self._mistakes,
                talk,
            ),
            cost=0.0,
        )

    async def _ask(self, client: httpx.AsyncClient, request: Request, talk: list[str]) -> str:
        question = {
            "prompt": request.prompt.name,
            "inputs": request.inputs,
            "seed": request.seed,
            "sample": request.sample,
            "mistakes": self._mistakes,
            "talk": talk,
        }
        try:
            answer = await client.post(
                self._url, json=question, headers={"X-EnvMill-Subject": request.subject}
            )
            answer.raise_for_status()
            return answer.json()["reply"]
        except (httpx.HTTPError, ValueError, KeyError) as error:
            raise Outage(
                f"The offline author at {self._url} does not answer ({error}). Start it again, "
                "then retry the run."
            ) from error

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()
