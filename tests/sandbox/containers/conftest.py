"""One small image for all tests here, and one nursery for a module's."""

import os
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from envmill.base.errors import SandboxError
from envmill.sandbox.containers import CachedImage
from envmill.sandbox.containers.box import Boxes
from tests.sandbox.containers.small import make_small


@pytest.fixture(scope="session")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("images")


@pytest.fixture(scope="session")
def small(images: Path) -> CachedImage:
    return make_small(images / "small")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def boxes(images: Path) -> AsyncGenerator[Boxes]:
    try:
        engine = await Boxes.open(images)
    except SandboxError as error:
        if os.environ.get("CI"):
            raise
        pytest.skip(error.message)
    yield engine
    await engine.close()
