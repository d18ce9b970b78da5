"""The loopback vendors for models at play, and a scenario whose user has something to tell later."""

from collections.abc import Iterator

import pytest

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
