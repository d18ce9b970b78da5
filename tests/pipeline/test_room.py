"""Room: never more subjects at once than there are places, and nobody waits for ever."""

import asyncio
import random

import pytest

from envmill.pipeline.room import Room


async def test_no_more_than_there_are_places_and_in_order() -> None:
    room, dice, at_once, most, began = Room(10), random.Random(5), 0, 0, list[int]()

    async def work(number: int, count: int) -> None:
        nonlocal at_once, most
        async with room.take(count):
            began.append(number)
            at_once += count
            most = max(most, at_once)
            await asyncio.sleep(0)
            at_once -= count

    await asyncio.gather(*(work(number, dice.randrange(1, 8)) for number in range(200)))
    assert most == 10 or 8 <= most < 10
    assert began == sorted(began), "a large bucket is never passed by small ones for ever"


async def test_more_than_all_places_are_all_of_them() -> None:
    room = Room(4)
    async with room.take(64):
        waiting = asyncio.create_task(room.take(1).__aenter__())
        await asyncio.sleep(0)
        assert not waiting.done()
    await waiting


async def test_a_waiter_that_is_cancelled_takes_no_place() -> None:
    room = Room(4)
    async with room.take(4):
        waiting = asyncio.create_task(room.take(4).__aenter__())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
    async with asyncio.timeout(1), room.take(4):
        pass
