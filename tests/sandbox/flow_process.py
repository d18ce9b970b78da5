"""A flow process that holds a session open, has another in an endless loop, says so, and waits to
be killed.

With an argument it does so in a thread of its own, whose death the kernel would report instead of
the process's.
"""

import asyncio
import sys
import threading

from envmill.base.settings import Settings
from envmill.sandbox import Sandbox
from tests.sandbox.programs import RESET, invoke, make_counter


async def hold() -> None:
    async with (
        Sandbox.open(Settings.read({})) as sandbox,
        sandbox.session(make_counter()) as session,
    ):
        await session.step(RESET)
        hanging = asyncio.create_task(sandbox.play(make_counter(), [RESET, *[invoke("hang")] * 20]))
        await asyncio.sleep(0.2)
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        await hanging
        await asyncio.sleep(60)


if len(sys.argv) > 1:
    thread = threading.Thread(target=lambda: asyncio.run(hold()))
    thread.start()
    thread.join()
else:
    asyncio.run(hold())
