"""One jail a module for the tests of gates, which run in their module's loop: opening it takes
longer than most specimens."""

from collections.abc import AsyncGenerator

import pytest_asyncio

from envmill.base.settings import Settings
from envmill.kinds import open_sandbox
from envmill.sandbox import Sandbox


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox() -> AsyncGenerator[Sandbox]:
    async with open_sandbox(Settings.read({}), drivers=1) as opened:
        yield opened
