"""What the author's tests share."""

import pytest

from tests.offline.jail import JAIL


def pytest_runtest_teardown(nextitem: pytest.Item | None) -> None:
    """The jail stays open among the author's tests: others count the processes below them."""
    if nextitem is None or not nextitem.nodeid.startswith("tests/offline/"):
        JAIL.close()
