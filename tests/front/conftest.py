"""A bundle folder with the shed of the specimens."""

from pathlib import Path

import pytest

from envmill.interop.bundles import Folder, write_folder
from tests.specimens import make_environment, make_scenario, make_tests


@pytest.fixture
def shed(tmp_path: Path) -> Path:
    environment = make_environment()
    write_folder(
        tmp_path / "shed",
        Folder(environment, tuple(make_tests(environment)), (make_scenario(environment),)),
    )
    return tmp_path / "shed"
