"""One night for every consumer's soak tests."""

import pytest

from envmill.base.settings import ROOT
from tests.interop.consumers.nights import Night, make_night


@pytest.fixture(scope="session")
def night() -> Night:
    """Its lake stays, where a run that was cut off goes on."""
    return make_night(ROOT / ".envmill/soak-consumers", 13)
