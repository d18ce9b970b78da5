"""Layers that terminals begin on: too many are thinned out, by however many sessions that end at
once; and what containers stand on, listed once."""

import asyncio
from typing import Any, cast

import pytest

from envmill.kinds.terminal.breaking.systems import load_system
from envmill.sandbox.containers import Engine
from envmill.sandbox.machines import staging
from envmill.sandbox.machines.staging import MOST, MachineLayers, _Stage  # pyright: ignore[reportPrivateUsage]


class Slow:
    """An engine that takes its time to forget a layer."""

    branches = True

    def __init__(self) -> None:
        self.forgotten: list[int] = []

    async def forget(self, layer: Any) -> None:
        self.forgotten.append(layer)
        await asyncio.sleep(0)


async def test_each_surplus_layer_is_forgotten_once() -> None:
    engine = Slow()
    stages = MachineLayers(cast(Engine, engine), cast(Any, None))
    kept: dict[str, Any] = stages._kept  # pyright: ignore[reportPrivateUsage, reportAssignmentType]
    kept |= {str(number): _Stage(layer=cast(Any, number + 1)) for number in range(MOST + 3)}
    await asyncio.gather(*(stages._thin_out() for _ in range(3)))  # pyright: ignore[reportPrivateUsage]
    assert sorted(engine.forgotten) == [1, 2, 3]
    assert len(kept) == MOST


class Taken:
    """A container that only knows how often one was taken down."""

    ended = 0

    async def down(self) -> None:
        Taken.ended += 1


async def test_what_containers_stand_on_is_listed_once_for_each_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And the library packed once for all; what a system calls volatile is left out of its list."""
    packed, listed = list[Any](), list[tuple[str, bytes]]()

    async def pack(container: Any) -> bytes:
        packed.append(container)
        return b"library"

    async def list_ground(_: Any, healthy: Any, library: bytes) -> Any:
        listed.append((healthy.system.name, library))
        return object()

    async def up(_: Any) -> Any:
        return Taken()

    monkeypatch.setattr(staging, "pack_library", pack)
    monkeypatch.setattr(staging, "take_ground", list_ground)
    stages, share = MachineLayers(cast(Engine, Slow()), up), load_system("share")
    first = await stages.find_ground(share)
    assert await stages.find_ground(share) is first
    noisy = share.system.model_copy(update={"volatile": [*share.system.volatile, "/srv/spool"]})
    assert await stages.find_ground(share._replace(system=noisy)) is not first
    assert await stages.find_ground(load_system("rotation")) is not first
    assert listed == [(name, b"library") for name in ("share", "share", "rotation")]
    assert (len(packed), Taken.ended) == (1, 3)
