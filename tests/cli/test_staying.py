"""`envmill up --stay`, as the first process of a container lives and ends."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.errors import EnvMillError
from flows.local import staying
from flows.local.home import Home
from flows.local.process import Process


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.read({"ENVMILL_HOME": str(tmp_path), "ENVMILL_PORT": "0"})


@pytest.fixture
def downs(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[Home]]:
    found: list[Home] = []
    monkeypatch.setattr(staying, "_PACE", 0.01)
    monkeypatch.setattr(staying, "bring_down", lambda home, say: found.append(home))
    before = signal.getsignal(signal.SIGTERM)
    yield found
    signal.signal(signal.SIGTERM, before)


def start_watchdog(home: Home, words: str) -> Process:
    process = Process(home, "watchdog")
    process.start(["-S", "-c", words], "")
    return process


def stop(home: Home, process: Process) -> None:
    """As a `down` does."""
    with home.lock():
        process.stop(1)


def test_a_down_elsewhere_lets_it_go(home: Home, downs: list[Home]) -> None:
    staying.stay(home, print)
    assert downs == []


def test_a_watchdog_that_died_is_an_error_with_its_last_words(
    home: Home, downs: list[Home]
) -> None:
    start_watchdog(home, "print('out of memory')")
    with pytest.raises(EnvMillError, match=r"The watchdog died\.(.|\n)*out of memory"):
        staying.stay(home, print)


def test_being_asked_to_end_brings_everything_down(home: Home, downs: list[Home]) -> None:
    watchdog = start_watchdog(home, "import time; time.sleep(60)")
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGTERM)).start()
    staying.stay(home, print)
    assert [one.folder for one in downs] == [home.folder]
    watchdog.stop(1)


def test_orphans_are_buried(home: Home, downs: list[Home]) -> None:
    """As the first process of a container it inherits them; here a child stands for one."""
    watchdog = start_watchdog(home, "import time; time.sleep(60)")
    with subprocess.Popen([sys.executable, "-S", "-c", "pass"]) as orphan:
        threading.Timer(0.3, stop, (home, watchdog)).start()
        staying.stay(home, print)
        with pytest.raises(ChildProcessError):
            os.waitpid(orphan.pid, 0)
