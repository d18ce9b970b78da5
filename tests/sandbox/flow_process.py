"""A flow process that holds a session open, has another in an endless loop, says so, and waits to be killed."""

import asyncio
import sys

from envmill.sandbox import Sandbox
from envmill.settings import Settings
from tests.sandbox.programs import RESET, invoke, make_counter


async def hold() -> None:
    async with Sandbox.open(Settings.read({})) as sandbox, sandbox.session(make_counter()) as session:
        await session.step(RESET)
        hanging = asyncio.create_task(sandbox.play(make_counter(), [RESET, invoke("hang")]))
        await asyncio.sleep(0.2)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await hanging
        await asyncio.sleep(60)


asyncio.run(hold())
