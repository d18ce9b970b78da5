"""Boxes that folders are graded in. Where they must not be missing, nothing is skipped."""

import os
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from envmill.base.errors import SandboxError
from envmill.base.settings import Settings
from envmill.sandbox.containers import CachedImage, Engine, find_base, open_engine

SETTINGS = Settings.read(os.environ)


def pass_over(error: SandboxError) -> None:
    """Skip, on a user's machine."""
    if os.environ.get("CI") or os.environ.get("ENVMILL_SOAK") == "1":
        raise error
    pytest.skip(error.message)


@pytest.fixture(scope="module")
def base() -> CachedImage:
    try:
        return find_base(SETTINGS.images)
    except SandboxError as error:
        pass_over(error)
        raise


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def boxes(base: CachedImage) -> AsyncGenerator[Engine]:
    try:
        async with open_engine(SETTINGS, "box") as engine:
            yield engine
    except SandboxError as error:
        pass_over(error)
