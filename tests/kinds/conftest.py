"""Terminals need the base image and an engine; where there is none, what needs them is skipped with
a word, and never under `make soak`."""

import os
import tempfile
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.kinds import open_sandbox
from envmill.sandbox import Sandbox
from envmill.sandbox.containers import find_base


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def terminals() -> AsyncGenerator[Sandbox]:
    with tempfile.TemporaryDirectory() as folder:
        settings = Settings.read({**os.environ, "ENVMILL_HOME": folder})
        try:
            find_base(settings.images)
        except SandboxError as error:
            if os.environ.get("ENVMILL_SOAK") == "1":
                raise
            pytest.skip(error.message)
        async with open_sandbox(settings, drivers=1) as opened:
            yield opened
