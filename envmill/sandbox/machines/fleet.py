"""Every terminal of one sandbox: how many live at once, and the engine that makes their containers, opened when the first is asked for."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from envmill.runtime.interface import ToolEntry
from envmill.sandbox.containers import Container, Engine, find_base, open_engine
from envmill.sandbox.machines.files import read_machine
from envmill.sandbox.machines.terminal import Terminal
from envmill.settings import Settings

AT_ONCE = 8
"""Each may take a gigabyte."""


class Fleet:
    """Opens terminals. Without a base image, or an engine, that is a SandboxError which says how to get one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._engine: Engine | None = None
        self._places = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def open(self, files: Mapping[str, str], tools: Sequence[ToolEntry]) -> AsyncGenerator[Terminal]:
        """A terminal in which nothing was begun yet."""
        async with self._places:
            terminal = Terminal(read_machine(files), tools, self.up)
            try:
                yield terminal
            finally:
                await terminal.close()

    @asynccontextmanager
    async def lend(self) -> AsyncGenerator[Container]:
        """A container without anything in it."""
        async with self._places:
            container = await self.up()
            try:
                yield container
            finally:
                await container.down()

    async def up(self) -> Container:
        """A container of its own."""
        image = find_base(self._settings.images)
        async with self._opening:
            if self._engine is None:
                self._engine = await self._stack.enter_async_context(open_engine(self._settings))
        return await self._engine.up(image)

    async def close(self) -> None:
        """The engine goes, and all that it made."""
        await self._stack.aclose()
        self._engine = None
