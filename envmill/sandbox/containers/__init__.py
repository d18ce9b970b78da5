"""Containers: a root file system and processes behind one interface, held by one of the engines in
the table.

async with open_engine(settings) as engine, lend(engine, find_base(settings.images)) as container:
    ran = await container.shell("cd /etc && ls")
"""

from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import asynccontextmanager
from typing import Any

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.sandbox.containers.base import (
    CommandResult,
    Container,
    ContainerLayer,
    ContainerLimits,
    Digest,
    Engine,
    EngineCondition,
    FileResult,
    OverlayContent,
    OverlayEntry,
    PathChange,
    lend,
)
from envmill.sandbox.containers.box import Boxes
from envmill.sandbox.containers.image import CachedImage, find_base

__all__ = [
    "CachedImage",
    "CommandResult",
    "Container",
    "ContainerLayer",
    "ContainerLimits",
    "Digest",
    "Engine",
    "EngineCondition",
    "FileResult",
    "OverlayContent",
    "OverlayEntry",
    "PathChange",
    "examine",
    "find_base",
    "lend",
    "open_engine",
]


async def _open_docker(settings: Settings) -> Engine:
    # The client costs a tenth of a second to import: whoever has boxes does without.
    from envmill.sandbox.containers.docker import Docker

    return await Docker.open(settings.docker)


async def _open_boxes(settings: Settings) -> Engine:
    return await Boxes.open(settings.images)


ENGINES: dict[str, Callable[[Settings], Coroutine[Any, Any, Engine]]] = {
    "box": _open_boxes,
    "docker": _open_docker,
}
"""In the order in which they are tried."""


@asynccontextmanager
async def open_engine(settings: Settings, name: str = "") -> AsyncGenerator[Engine]:
    """The engine of a name or the settings', or the first of which every limit holds here; without
    one, the first that works at all."""
    name = name or settings.engine
    engine = await (_choose(settings) if not name else _open(settings, name))
    try:
        yield engine
    finally:
        await engine.close()


async def examine(settings: Settings) -> dict[str, EngineCondition]:
    """What each engine is worth on this machine."""
    found: dict[str, EngineCondition] = {}
    for name in ENGINES:
        try:
            async with open_engine(settings, name) as engine:
                found[name] = engine.condition
        except SandboxError as error:
            found[name] = EngineCondition(False, error.message)
    return found


async def _open(settings: Settings, name: str) -> Engine:
    if name not in ENGINES:
        raise SandboxError(f"There is no engine {name!r}: use {' or '.join(ENGINES)}.")
    return await ENGINES[name](settings)


async def _choose(settings: Settings) -> Engine:
    weaker: Engine | None = None
    reasons: list[str] = []
    for name, start in ENGINES.items():
        try:
            engine = await start(settings)
        except SandboxError as error:
            reasons.append(f"{name}: {error.message}")
            continue
        if not engine.condition.weak:
            await _close(weaker)
            return engine
        await _close(engine if weaker else None)
        weaker = weaker or engine
    if weaker is None:
        raise SandboxError(f"No container engine works here. {' '.join(reasons)}")
    return weaker


async def _close(engine: Engine | None) -> None:
    if engine:
        await engine.close()
