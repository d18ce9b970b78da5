"""What every test may stand on."""

import tempfile
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import pytest_asyncio

from envmill.sandbox import Sandbox
from envmill.settings import ROOT, Settings

_TOGETHER = ("e2e", "hostile", "quality")
"""Folders whose tests share what takes long to bring up: a server and its browser, a container engine, Great Expectations."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests of one file run in one process, one after the other, and so do those of a folder that shares something."""
    for item in items:
        place = item.path.relative_to(ROOT / "tests") if item.path.is_relative_to(ROOT / "tests") else item.path
        item.add_marker(pytest.mark.xdist_group(place.parts[0] if place.parts[0] in _TOGETHER else str(place)))
        if "jail" in getattr(item, "fixturenames", ()):
            # What is shared lives in one event loop.
            item.add_marker(pytest.mark.asyncio(loop_scope="module"), append=False)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    """A home, a lake and a bundles folder of the test's own."""
    return Settings.read(
        {
            "ENVMILL_HOME": str(tmp_path / "home"),
            "ENVMILL_LAKE": str(tmp_path / "lake"),
            "ENVMILL_BUNDLES": str(tmp_path / "bundles"),
            "ENVMILL_PORT": "0",
        }
    )


@pytest.fixture
async def sandbox(settings: Settings) -> AsyncGenerator[Sandbox]:
    """A jail of the test's own."""
    async with Sandbox.open(settings) as opened:
        yield opened


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def jail() -> AsyncGenerator[Sandbox]:
    """One for all tests of a file, in which none of them can tell whether others were before it; to start one takes longer than most."""
    with tempfile.TemporaryDirectory() as folder:
        async with Sandbox.open(Settings.read({"ENVMILL_HOME": folder})) as opened:
            yield opened
