"""Every terminal of one sandbox: how many live at once, and the engine that makes their containers,
opened when the first is asked for."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from envmill.base.settings import Settings
from envmill.runtime.interface import ToolEntry
from envmill.sandbox.containers import Container, ContainerLayer, Engine, find_base, open_engine
from envmill.sandbox.machines.files import read_machine
from envmill.sandbox.machines.frame import BaseListing
from envmill.sandbox.machines.healthy import Healthy
from envmill.sandbox.machines.staging import MachineLayers, StartedMachine
from envmill.sandbox.machines.terminal import TerminalSession
from schemas.system import MachineState

AT_ONCE = 8
"""Each may take a gigabyte."""


class Fleet:
    """Opens terminals. Without a base image, or an engine, that is a SandboxError which says how to
    get one."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._stack = AsyncExitStack()
        self._opening = asyncio.Lock()
        self._engine: Engine | None = None
        self._stages: MachineLayers | None = None
        self._places = asyncio.Semaphore(AT_ONCE)

    @asynccontextmanager
    async def open(
        self, files: Mapping[str, str], tools: Sequence[ToolEntry], *, fresh: bool = False
    ) -> AsyncGenerator[TerminalSession]:
        """A terminal in which nothing was begun yet; a `fresh` one owes nothing to any that was
        before."""
        async with self._places:

            @asynccontextmanager
            async def begin(
                healthy: Healthy, begun: MachineState
            ) -> AsyncGenerator[StartedMachine]:
                async with (await self._open()).begin(healthy, begun, fresh=fresh) as machine:
                    yield machine

            terminal = TerminalSession(read_machine(files), tools, begin)
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

    async def find_ground(self, healthy: Healthy) -> BaseListing:
        """What a container that is lent stands on, as this system's files are listed."""
        return await (await self._open()).find_ground(healthy)

    async def up(self, layer: ContainerLayer | None = None) -> Container:
        """A container of its own."""
        await self._open()
        assert self._engine is not None
        return await self._engine.up(find_base(self._settings.images), layer=layer)

    async def _open(self) -> MachineLayers:
        find_base(self._settings.images)
        async with self._opening:
            if self._engine is None or self._stages is None:
                self._engine = await self._stack.enter_async_context(open_engine(self._settings))
                self._stages = MachineLayers(self._engine, self.up)
        return self._stages

    async def close(self) -> None:
        """The engine goes, and all that it made."""
        await self._stack.aclose()
        self._engine, self._stages = None, None
