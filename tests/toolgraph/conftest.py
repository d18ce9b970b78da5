"""One graph for all who only read it."""

import asyncio

import pytest

from envmill.toolgraph.graph import ToolGraph
from tests.toolgraph.shop import weave_shop


@pytest.fixture(scope="session")
def shop() -> ToolGraph:
    return asyncio.run(weave_shop())
