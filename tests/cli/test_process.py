import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from flows.local import launch
from flows.local.home import Home
from flows.local.process import Process, ProcessRecord, end, find_marked

SLEEP = ["-S", "-c", "import time; print('awake', flush=True); time.sleep(60)"]
DEAF = [
    "-S",
    "-c",
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('deaf', "
    "flush=True); time.sleep(60)",
]


@pytest.fixture
def process(tmp_path: Path) -> Iterator[Process]:
    home = Home.read({"ENVMILL_HOME": str(tmp_path)})
    yield Process(home, "server")
    end(find_marked(home), grace=0)


def wait_for_word(process: Process, word: str) -> None:
    deadline = time.monotonic() + 60
    while word not in process.last_words():
        assert time.monotonic() < deadline, process.last_words()
        time.sleep(0.01)


def wait_for_end(record: ProcessRecord) -> None:
    deadline = time.monotonic() + 60
    while record.alive and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not record.alive


def test_started_known_and_stopped(process: Process) -> None:
    record = process.start(SLEEP, "http://here")
    assert process.running() == record
    assert record.url == "http://here"
    assert os.getsid(record.pid) != os.getsid(0)
    assert process.stop(grace=5)
    assert not record.alive
    assert not process.path.exists()


def test_stopping_what_does_not_run_is_fine(process: Process) -> None:
    assert not process.stop(grace=0)


def test_one_that_ignores_the_request_is_killed(process: Process) -> None:
    record = process.start(DEAF, "")
    wait_for_word(process, "deaf")
    process.stop(grace=0.2)
    assert not record.alive


@pytest.mark.parametrize(
    "lie",
    [
        pytest.param({"pid": 2**22 + 1}, id="gone"),
        pytest.param({"pid": os.getpid(), "started": 1}, id="pid of a stranger"),
        pytest.param({"pid": os.getpid(), "boot": "another"}, id="before the last boot"),
    ],
)
def test_a_stale_record_is_seen_and_cleared(process: Process, lie: dict[str, object]) -> None:
    truth = {
        "pid": os.getpid(),
        "started": launch.read_start(os.getpid()),
        "boot": launch.read_boot(),
        "url": "",
    }
    process.path.write_text(json.dumps(truth | lie))
    assert process.running() is None
    assert process.forget_stale()
    assert not process.path.exists()


def test_a_stranger_with_our_pid_is_not_stopped(process: Process) -> None:
    stranger = subprocess.Popen([sys.executable, *SLEEP], stdout=subprocess.DEVNULL)
    try:
        process.path.write_text(
            json.dumps({"pid": stranger.pid, "started": 1, "boot": launch.read_boot(), "url": ""})
        )
        assert not process.stop(grace=0)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.parametrize("text", ["", "{", "[]", '{"pid": 1}'])
def test_a_damaged_record_is_no_record(process: Process, text: str) -> None:
    process.path.write_text(text)
    assert process.running() is None
    assert process.forget_stale()


def test_a_live_record_is_not_forgotten(process: Process) -> None:
    process.start(SLEEP, "")
    assert not process.forget_stale()


def test_the_record_outlives_a_starter_killed_at_once(process: Process) -> None:
    """Whoever starts a process may be killed before it looks at the record."""
    script = f"""
import os, signal, subprocess
from flows.local.home import Home
from flows.local.process import Process
real = subprocess.run
def run_and_die(*arguments, **options):
    real(*arguments, **options)
    os.kill(os.getpid(), signal.SIGKILL)
subprocess.run = run_and_die
Process(Home.read({{"ENVMILL_HOME": {str(process.home.folder)!r}}}), "server").start({SLEEP!r}, "")
"""
    starter = subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False)
    assert starter.returncode == -signal.SIGKILL
    wait_for_word(process, "awake")
    assert process.running()


def test_orphans_are_found_by_their_mark(process: Process) -> None:
    script = (
        f"import subprocess, sys; subprocess.Popen([sys.executable, *{SLEEP!r}], "
        "start_new_session=True)"
    )
    record = process.start(["-S", "-c", script], "")
    wait_for_word(process, "awake")
    wait_for_end(record)  # the child speaks before its parent is gone
    assert len(find_marked(process.home)) == 1
    assert not find_marked(Home.read({"ENVMILL_HOME": "/elsewhere"}))


def test_a_program_that_ends_at_once_leaves_its_last_words(process: Process) -> None:
    record = process.start(["-S", "-c", "raise SystemExit('no such module')"], "")
    wait_for_word(process, "no such module")
    wait_for_end(record)
