"""The driver's alarm: a wait that lasts too long ends, one that does not is left alone, and
nobody's wait is nobody's trouble."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from envmill.runtime.jail import deadline_timer
from envmill.runtime.jail.deadline import PATIENCE
from envmill.runtime.jail.deadline_timer import TICK, VIGIL
from envmill.runtime.jail.wire import Overdue

FAR = float("inf")


@pytest.fixture(autouse=True)
def alarm() -> Iterator[None]:
    before = signal.getsignal(signal.SIGALRM)
    yield
    VIGIL.dismiss()
    time.sleep(3 * TICK)
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0), "it rings although nobody waits"
    signal.signal(signal.SIGALRM, before)


def test_a_blocked_read_ends_at_its_deadline() -> None:
    reader, writer = os.pipe()
    VIGIL.keep(TICK / 2, FAR)
    with pytest.raises(Overdue):
        os.read(reader, 1)
    os.close(reader)
    os.close(writer)


def test_a_plan_may_end_before_its_answer_is_late() -> None:
    reader, writer = os.pipe()
    VIGIL.keep(1000, time.monotonic() + TICK / 2)
    with pytest.raises(Overdue):
        os.read(reader, 1)
    os.close(reader)
    os.close(writer)


def test_a_blocked_write_ends_at_its_deadline() -> None:
    reader, writer = os.pipe()
    VIGIL.keep(TICK / 2, FAR)
    with pytest.raises(Overdue):
        os.write(writer, bytes(1 << 20))
    os.close(reader)
    os.close(writer)


def test_an_answer_in_time_is_left_alone_and_so_is_who_comes_after() -> None:
    VIGIL.keep(TICK / 2, FAR)
    VIGIL.dismiss()
    time.sleep(3 * TICK)
    VIGIL.keep(1000, FAR)
    time.sleep(3 * TICK)


@contextmanager
def run_other(code: str) -> Iterator[int]:
    """The clock of another process's own time."""
    with subprocess.Popen([sys.executable, "-S", "-c", code]) as other:
        try:
            yield ~other.pid << 3 | 2
        finally:
            other.kill()


def wait_for(clock: int) -> float:
    """Seconds until the wait for it was over."""
    reader, writer = os.pipe()
    began = time.monotonic()
    VIGIL.keep(2 * TICK, FAR, clock)
    with pytest.raises(Overdue):
        os.read(reader, 1)
    os.close(reader)
    os.close(writer)
    return time.monotonic() - began


def test_who_computes_is_charged_what_it_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deadline_timer, "PATIENCE", 300)
    with run_other("while True: pass") as clock:
        spent = time.clock_gettime(clock)
        wait_for(clock)
        assert time.clock_gettime(clock) - spent >= TICK


def test_who_gets_no_processor_time_is_waited_for_longer() -> None:
    with run_other("import time; time.sleep(100)") as clock:
        time.sleep(1)
        assert wait_for(clock) >= PATIENCE * 2 * TICK


def test_a_plan_ends_whoever_computes() -> None:
    reader, writer = os.pipe()
    with run_other("import time; time.sleep(100)") as clock:
        began = time.monotonic()
        VIGIL.keep(1000, began + TICK / 2, clock)
        with pytest.raises(Overdue):
            os.read(reader, 1)
    os.close(reader)
    os.close(writer)
