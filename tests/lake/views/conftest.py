from pathlib import Path

import pytest

from envmill.lake.lake import Lake
from tests.lake.views.example import fill


@pytest.fixture(scope="session")
def example_place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A lake nobody writes to."""
    place = tmp_path_factory.mktemp("example") / "lake"
    fill(Lake(place))
    return place


@pytest.fixture
def example(example_place: Path) -> Lake:
    return Lake(example_place)
