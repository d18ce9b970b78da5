"""kill -9 of a process that walks the line, anywhere: walked again, the run is the one nobody disturbed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from envmill.lake.journal import read_calls
from envmill.lake.lake import Lake
from envmill.settings import ROOT, Settings
from schemas.ledger import ModelCall
from tests.soak import count
from tests.test_walk import contents, settings_in

_WALKER = """
import asyncio, sys
from pathlib import Path
from tests.test_walk import settings_in, walk_line

asyncio.run(walk_line(settings_in(Path(sys.argv[1]))))
"""


def start_walker(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen([sys.executable, "-c", _WALKER, str(folder)], cwd=ROOT)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, float]:
    """A finished run and how long its process took."""
    folder, began = tmp_path_factory.mktemp("undisturbed"), time.monotonic()
    assert start_walker(folder).wait() == 0
    return settings_in(folder), time.monotonic() - began


def answered(settings: Settings) -> Counter[tuple[str, int]]:
    """Calls whose replies are kept, by request and sample."""
    kept = [*Lake(settings.lake).read(ModelCall, "r1"), *read_calls(settings.home / "journal" / "r1")]
    return Counter((call.request, call.sample) for call in kept if not call.reused)


@pytest.mark.soak(area="operations")
@pytest.mark.parametrize("number", range(count(3, 40)))
def test_a_killed_walk_ends_equal(undisturbed: tuple[Settings, float], tmp_path: Path, number: int) -> None:
    settings, seconds = undisturbed
    instant = random.Random(f"{os.environ.get('ENVMILL_SEED', '')}/{number}").uniform(0.1, 0.95) * seconds
    walker = start_walker(tmp_path)
    time.sleep(instant)
    walker.send_signal(signal.SIGKILL)
    walker.wait()
    assert start_walker(tmp_path).wait() == 0
    assert contents(settings_in(tmp_path)) == contents(settings), f"killed after {instant:.2f} s of {seconds:.2f} s"
    assert set(answered(settings_in(tmp_path)).values()) == {1}, "a reply that was on disk was asked for again"
    assert not list((tmp_path / "home" / "journal").rglob("*.jsonl"))
