"""The engine is stopped when the last test that may use it is done."""

from collections.abc import Iterator

import pytest

from tests.hostile.places import start_engine


@pytest.fixture(scope="session", autouse=True)
def _stop_engine() -> Iterator[None]:  # pyright: ignore[reportUnusedFunction]
    yield
    if start_engine.cache_info().currsize:
        start_engine().close()
