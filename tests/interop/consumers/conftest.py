"""One night for every consumer's soak tests."""

import pytest

from tests.interop.consumers.nights import Night, make_night


@pytest.fixture(scope="session")
def night(tmp_path_factory: pytest.TempPathFactory) -> Night:
    return make_night(tmp_path_factory.mktemp("night"), 13)
