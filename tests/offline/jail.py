"""One jail for all tests of the author in a process: opening one takes longer than a hundred
plays."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from typing import Any, TypeVar

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.sandbox import Observation, Program, Sandbox, Step

Found = TypeVar("Found")


class Patient(Sandbox):
    """Plays once more after an outage: it says nothing of what is tested, and on a busy machine
    among so many plays there is one."""

    async def play(
        self, program: Program, steps: Sequence[Step], **manner: Any
    ) -> list[Observation]:
        try:
            return await super().play(program, steps, **manner)
        except SandboxError:
            return await super().play(program, steps, **manner)


class Jail:
    """Opened by the first test that plays something, and left open for the next."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._sandbox: Sandbox | None = None
        self._open = AsyncExitStack()

    def enter(self, work: Callable[[Sandbox], Awaitable[Found]]) -> Found:
        """What comes of work in the jail."""
        self._loop = self._loop or asyncio.new_event_loop()
        return self._loop.run_until_complete(self._go(work))

    def close(self) -> None:
        """End its processes; the next test opens it again."""
        if self._loop:
            self._loop.run_until_complete(self._open.aclose())
            self._loop.run_until_complete(self._loop.shutdown_asyncgens())
            self._loop.close()
        self._loop = self._sandbox = None

    async def _go(self, work: Callable[[Sandbox], Awaitable[Found]]) -> Found:
        if self._sandbox is None:
            self._sandbox = await self._open.enter_async_context(
                Patient.open(Settings.read({}), drivers=1)
            )
        return await work(self._sandbox)


JAIL = Jail()
