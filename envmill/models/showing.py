"""A door that asks nobody: it catches the first request an account would send, so that it can be
shown."""

import asyncio

from envmill.base.errors import SettingsError
from envmill.models.base import Completion, Request, Role, Spent
from envmill.models.parse import ParsedCompletion
from envmill.models.prompt import Prompt
from envmill.models.session import ModelSession


class _Caught(Exception):
    def __init__(self, request: Request) -> None:
        super().__init__()
        self.request = request


class _Nobody:
    name = model = "nobody"

    async def complete(self, request: Request) -> Completion:
        raise _Caught(request)

    async def close(self) -> None:
        return


class _Shut:
    seed = 0

    def provider_of(self, role: Role) -> _Nobody:  # noqa: ARG002  nobody plays every role
        return _Nobody()

    async def complete(self, request: Request, spent: Spent) -> ParsedCompletion:  # noqa: ARG002  nothing is spent
        raise _Caught(request)


def show_request(prompt: Prompt) -> Request:
    """What an account asks with the prompt's example."""
    if prompt.gives is None:
        raise SettingsError(
            f"Prompt {prompt.name} is asked in a conversation: it has no first request of its own."
        )
    try:
        asyncio.run(ModelSession(_Shut(), "", "").ask(prompt, prompt.exemplify(), prompt.gives))
    except _Caught as caught:
        return caught.request
    raise AssertionError("nobody answered")
