"""What every test may stand on."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from envmill.sandbox import Sandbox
from envmill.settings import Settings


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
