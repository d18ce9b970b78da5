"""The loopback vendors for models at play, and a scenario whose user has something to tell
later."""

from collections.abc import AsyncGenerator, Iterator

import pytest
import pytest_asyncio

from envmill.base.settings import Settings
from envmill.sandbox import Sandbox
from tests.models.vendors.launch import Loopback, launch


@pytest.fixture(scope="session")
def _process() -> Iterator[Loopback]:
    with launch() as started:
        yield started


@pytest.fixture
def vendors(_process: Loopback) -> Loopback:
    """Both vendors, that answer well until told otherwise."""
    _process.reset()
    return _process


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def sandbox(tmp_path_factory: pytest.TempPathFactory) -> AsyncGenerator[Sandbox]:
    """One jail for the tests of a file: opening one costs more than most of them."""
    async with Sandbox.open(
        Settings.read({"ENVMILL_HOME": str(tmp_path_factory.mktemp("home"))}), drivers=1
    ) as opened:
        yield opened
