"""One jail for the tests of a file: opening it takes longer than most of them."""

import pytest

from envmill.sandbox import Sandbox


@pytest.fixture
def sandbox(jail: Sandbox) -> Sandbox:
    return jail
