"""Where terminals begin: a machine is set up and broken once, kept as a layer, and every session of
it begins there.

Reset ─► kept, broken so? ─no─► container ─► set up ─► services stopped ─► breaks ─► layer, and the list of what it holds
                          └────► container on the layer ─► services started ─► what stands there now

A machine that must owe nothing to an earlier one is set up anew. So is every one where an engine's
layers cost more than that.
"""

import asyncio
from collections import OrderedDict
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from envmill.sandbox.containers import Container, ContainerLayer, Engine
from envmill.sandbox.machines.baseline import (
    RUNNING,
    Baseline,
    Examination,
    pack_volatile,
    take_ground,
    take_reference,
)
from envmill.sandbox.machines.frame import BaseListing, list_own, list_volatile
from envmill.sandbox.machines.healthy import SERVICES, Healthy
from envmill.sandbox.machines.machine import pack_library, run, set_up
from envmill.sandbox.machines.starting import break_down, make_breaks
from schemas.base import digest
from schemas.system import MachineState

MOST = 24
"""Layers that are kept: each takes a megabyte or so of memory."""


class StartedMachine(NamedTuple):
    """A machine as an agent finds it, and what stood there then."""

    container: Container
    reference: Baseline


@dataclass
class _Stage:
    """A layer, or the base image where there is none."""

    making: asyncio.Lock = field(default_factory=asyncio.Lock)
    users: int = 0
    layer: ContainerLayer | None = None
    running: bytes = b""
    """What stood in /run, packed."""
    volatile: bytes = b""
    """What stood where nobody compares, packed."""
    ground: BaseListing | None = None
    reports: dict[str, Examination] = field(default_factory=dict[str, Examination])
    """What machines that began here came to → what they showed."""


Up: TypeAlias = Callable[[ContainerLayer | None], Awaitable[Container]]


class MachineLayers:
    """The layers of one engine."""

    def __init__(self, engine: Engine, up: Up) -> None:
        self._engine, self._up = engine, up
        self._kept: OrderedDict[str, _Stage] = OrderedDict()
        self._packing, self._library = asyncio.Lock(), b""

    @asynccontextmanager
    async def begin(
        self, healthy: Healthy, begun: MachineState, *, fresh: bool = False
    ) -> AsyncGenerator[StartedMachine]:
        """A machine of one's own, taken down afterwards. What it stands on is kept until then: it
        may begin there again."""
        async with self._find(
            _name(healthy, None if fresh or not self._engine.branches else begun)
        ) as stage:
            if fresh or not self._engine.branches:
                machine = await self._begin_anew(stage, healthy, begun)
            else:
                machine = await self._begin_on(stage, healthy, begun)
            try:
                yield machine
            finally:
                await machine.container.down()

    async def find_ground(self, healthy: Healthy) -> BaseListing:
        """What a container of this system stands on, listed once."""
        async with self._find(_name(healthy, None)) as stage:
            if stage.ground is None:
                container = await self._up(None)
                try:
                    await self._keep_library(container)
                    await self._find_ground(stage, container, healthy)
                finally:
                    await container.down()
            assert stage.ground is not None
            return stage.ground

    async def _begin_anew(
        self, stage: _Stage, healthy: Healthy, begun: MachineState
    ) -> StartedMachine:
        container = await self._up(None)
        try:
            ground = None
            if self._engine.branches:
                await self._keep_library(container)
                ground = await self._find_ground(stage, container, healthy)
            await set_up(container, healthy)
            await break_down(container, begun)
            return StartedMachine(container, await take_reference(container, healthy, ground))
        except BaseException:
            await container.down()
            raise

    async def _begin_on(
        self, stage: _Stage, healthy: Healthy, begun: MachineState
    ) -> StartedMachine:
        async with stage.making:
            if stage.layer is None:
                stage.layer, stage.running, stage.volatile = await self._make_layer(healthy, begun)
        container = await self._up(stage.layer)
        try:
            ground = await self._find_ground(stage, container, healthy)
            unpack = [f"tar -C {RUNNING} -xpf -"] if stage.running else []
            # What was broken may well keep a service from starting.
            if begin := [*unpack, *([f"{SERVICES} start"] if healthy.system.services else [])]:
                await run(container, "\n".join(begin), given=stage.running)
            reference = await take_reference(container, healthy, ground, stage.volatile)
            return StartedMachine(
                container, reference._replace(reports=stage.reports, running=stage.running)
            )
        except BaseException:
            await container.down()
            raise

    async def _make_layer(
        self, healthy: Healthy, begun: MachineState
    ) -> tuple[ContainerLayer, bytes, bytes]:
        container = await self._up(None)
        try:
            await self._keep_library(container)
            await set_up(container, healthy)
            await make_breaks(container, begun)
            packed = await run(
                container,
                f"cd {RUNNING}; ls -A . lock | grep -qvE '^(lock|[.]:|lock:|)$' && tar -cf - . "
                "2>/dev/null",
            )
            return (
                await container.snapshot(),
                packed.output,
                await pack_volatile(container, healthy),
            )
        finally:
            await container.down()

    async def _find_ground(
        self, stage: _Stage, container: Container, healthy: Healthy
    ) -> BaseListing:
        """Of a container in which nothing was done yet."""
        async with stage.making:
            if stage.ground is None:
                stage.ground = await take_ground(container, healthy, self._library)
            return stage.ground

    async def _keep_library(self, container: Container) -> None:
        """Of the base image, once: what a scenario sets up or breaks has no say in it."""
        async with self._packing:
            self._library = self._library or await pack_library(container)

    @asynccontextmanager
    async def _find(self, name: str) -> AsyncGenerator[_Stage]:
        stage = self._kept.setdefault(name, _Stage())
        self._kept.move_to_end(name)
        stage.users += 1
        try:
            yield stage
        finally:
            stage.users -= 1
            await self._thin_out()

    async def _thin_out(self) -> None:
        idle = [name for name, each in self._kept.items() if not each.users]
        # Taken out before anything is waited for: others end at the same time.
        surplus = [self._kept.pop(name) for name in idle[: max(len(self._kept) - MOST, 0)]]
        for layer in (stage.layer for stage in surplus if stage.layer):
            await self._engine.forget(layer)


def _name(healthy: Healthy, begun: MachineState | None) -> str:
    """What a stage stands for; without a beginning, the base image as this system's files are
    listed."""
    if begun is None:
        return digest([list_own(healthy), [*list_volatile(healthy)]])
    files = {path: content.hex() for path, content in healthy.files.items()}
    return digest([healthy.system.model_dump(mode="json"), healthy.values, files, begun.breaks])
