"""A driver to be killed: it says when it is ready, then brings boxes up and down, snapshots and
commands them until somebody ends it.

python -m tests.sandbox.containers.driver IMAGES MARK
"""

import asyncio
import random
import sys
from pathlib import Path

from envmill.sandbox.containers import CachedImage, Container, ContainerLayer, lend
from envmill.sandbox.containers.box import Boxes


async def _work(engine: Boxes, image: CachedImage, mark: str, dice: random.Random) -> None:
    while True:
        async with lend(engine, image) as container:
            # One job of the shell's, and one that has left it.
            await container.shell(
                f"sleep {mark} & (setsid sleep {mark} &); head -c 100000 /dev/zero > /fill"
            )
            for _ in range(dice.randrange(6)):
                await _step(engine, image, container, dice)


async def _step(
    engine: Boxes, image: CachedImage, container: Container, dice: random.Random
) -> None:
    match dice.randrange(5):
        case 0:
            layer: ContainerLayer = await container.snapshot()
            async with lend(engine, image, layer=layer):
                pass
        case 1:
            await container.reset()
        case 2:
            await container.put("/x", bytes(300_000))
        case 3:
            await container.shell("sleep 0.02")
        case _:
            await container.run(["ls", "/"])


async def main(images: Path, mark: str) -> None:
    image = CachedImage(images / "small", "small", {})
    engine = await Boxes.open(images)
    async with lend(engine, image):
        sys.stdout.write("ready\n")
        sys.stdout.flush()
    async with asyncio.TaskGroup() as group:
        for number in range(3):
            group.create_task(_work(engine, image, mark, random.Random(f"{mark} {number}")))


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2]))
