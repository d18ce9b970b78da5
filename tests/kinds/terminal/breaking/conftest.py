"""Systems are broken in boxes on the base image; where there is none, what needs it is skipped with
a word, and never under `make soak`."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.sandbox.containers import find_base, lend
from envmill.sandbox.containers.box import Boxes
from envmill.sandbox.machines.machine import Containers


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def containers() -> AsyncGenerator[Containers]:
    images = Settings.read(dict(os.environ)).images
    try:
        image = find_base(Path(images))
        engine = await Boxes.open(Path(images))
    except SandboxError as error:
        if os.environ.get("ENVMILL_SOAK") == "1":
            raise
        pytest.skip(error.message)
    yield lambda: lend(engine, image)
    await engine.close()
