"""A run at every carrier, at the vendors' alone, and at the plain files."""

from pathlib import Path

import pytest

from tests.models.batches.field import KINDS, Field
from tests.models.calling import GOOD
from tests.models.vendors.launch import Loopback


@pytest.fixture(params=KINDS)
def run(request: pytest.FixtureRequest, tmp_path: Path, vendors: Loopback) -> Field:
    vendors.say(GOOD)
    return Field(request.param, tmp_path, vendors)


@pytest.fixture(params=("openai", "anthropic"))
def vendor(request: pytest.FixtureRequest, tmp_path: Path, vendors: Loopback) -> Field:
    vendors.say(GOOD)
    return Field(request.param, tmp_path, vendors)


@pytest.fixture
def lines(tmp_path: Path, vendors: Loopback) -> Field:
    return Field("lines", tmp_path, vendors)
