"""A door to models for gates: behind it sit scripted readers."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from envmill.base.errors import Outage
from envmill.models.base import Completion, Request, Spent
from envmill.models.parse import ParsedCompletion, parse_completion
from schemas.base import Contract


class ReadersDoor:
    """Prompt → what is said and what it is read as. Of a prompt without an entry the reader is
    out."""

    seed = 1

    def __init__(self, answers: Mapping[str, tuple[str, type[Contract]]]) -> None:
        self._answers, self.asked = answers, list[Request]()

    def provider_of(self, role: str) -> Any:
        return SimpleNamespace(name="scripted", model="judge-1")

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:
        self.asked.append(request)
        if request.prompt.name not in self._answers:
            raise Outage("the reader is out")
        text, read_as = self._answers[request.prompt.name]
        return parse_completion(Completion(text), read_as)
