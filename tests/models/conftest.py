"""The loopback vendors for every test here: one process for all, wiped before each."""

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
