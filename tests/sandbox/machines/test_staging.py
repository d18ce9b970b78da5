"""Layers that terminals begin on: too many are thinned out, by however many sessions that end at
once."""

import asyncio
from typing import Any, cast

from envmill.sandbox.containers import Engine
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
