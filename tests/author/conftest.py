"""What the author's tests share."""

from collections.abc import Generator

import pytest

from tests.author.jail import JAIL


@pytest.fixture(scope="session", autouse=True)
def jail() -> Generator[None]:
    """Nothing of the jail outlives the tests."""
    yield
    JAIL.close()
