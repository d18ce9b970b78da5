"""The loopback vendors for every test here: one process for all, wiped before each."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.models.batching import KINDS, Field
from tests.models.calling import GOOD
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


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, tmp_path: Path, vendors: Loopback) -> Field:
    """A run's batches, at every carrier."""
    vendors.say(GOOD)
    return Field(request.param, tmp_path, vendors)


@pytest.fixture(params=("openai", "anthropic"))
def vendor(request: pytest.FixtureRequest, tmp_path: Path, vendors: Loopback) -> Field:
    """The same, at the vendors alone."""
    vendors.say(GOOD)
    return Field(request.param, tmp_path, vendors)


@pytest.fixture
def lines(tmp_path: Path, vendors: Loopback) -> Field:
    """The same, in plain files."""
    return Field("lines", tmp_path, vendors)
