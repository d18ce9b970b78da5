from pathlib import Path

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from flows.local.home import Home
from schemas.ledger import RunEvent


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.read(
        {"ENVMILL_HOME": str(tmp_path), "ENVMILL_LAKE": str(tmp_path / "lake"), "ENVMILL_PORT": "0"}
    )


def start_run(home: Home, run: str) -> None:
    """A run that the lake knows of."""
    row = RunEvent(event="started", happened_at="2026-11-21T00:00:00+00:00", detail={})
    Lake(home.settings.lake).put(
        RunEvent, [row], "started-0", Stamp(run, "run", "", 0, 1, "", row.happened_at)
    )
