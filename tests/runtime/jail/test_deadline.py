"""The alarm of a session: a step is charged its processor time, and what only waits is interrupted later."""

import os
import select
import signal
import time
from collections.abc import Callable, Iterator

import pytest

from envmill.runtime.jail import deadline as jail_deadline
from envmill.runtime.jail.deadline import PATIENCE, Deadline, TimeUp

SECONDS = 0.2


@pytest.fixture
def deadline() -> Iterator[Deadline]:
    before = signal.getsignal(signal.SIGALRM)
    deadline = Deadline()
    deadline.install()
    yield deadline
    deadline.end()
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """The machine may do as much else as it likes."""
    monkeypatch.setattr(jail_deadline, "PATIENCE", 300)


def compute(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


@pytest.mark.usefixtures("patient")
def test_a_step_that_computes_too_long_is_interrupted(deadline: Deadline) -> None:
    began, spent = time.monotonic(), time.process_time()
    deadline.begin(SECONDS)
    with pytest.raises(TimeUp):
        compute(60)
    assert time.monotonic() - began >= SECONDS
    assert SECONDS <= time.process_time() - spent < 20 * SECONDS


@pytest.mark.usefixtures("patient")
def test_a_step_that_waits_for_the_processor_is_not(deadline: Deadline) -> None:
    """It was stopped for longer than it may take, as by a machine with much else to do."""

    def run() -> None:
        deadline.begin(SECONDS)
        os.kill(os.getpid(), signal.SIGSTOP)
        compute(SECONDS / 4)
        deadline.end()

    assert _run_stopped(run, 2 * SECONDS) == 0


@pytest.mark.usefixtures("patient")
def test_but_it_is_when_it_has_computed_too_long(deadline: Deadline) -> None:
    def run() -> None:
        deadline.begin(SECONDS)
        os.kill(os.getpid(), signal.SIGSTOP)
        compute(60)

    assert _run_stopped(run, 2 * SECONDS) == 1


def test_a_step_that_only_waits_is_interrupted_later(deadline: Deadline) -> None:
    began = time.monotonic()
    deadline.begin(SECONDS)
    with pytest.raises(TimeUp):
        select.select([], [], [], 60)
    assert time.monotonic() - began >= PATIENCE * SECONDS


@pytest.mark.usefixtures("patient")
def test_the_next_step_has_its_own_time(deadline: Deadline) -> None:
    deadline.begin(SECONDS)
    compute(SECONDS * 0.6)
    deadline.end()
    deadline.begin(SECONDS)
    compute(SECONDS * 0.6)
    deadline.end()


def _run_stopped(run: Callable[[], None], seconds: float) -> int:
    """In a process that stops itself, and goes on after so long: 1 if it was interrupted."""
    child = os.fork()
    if not child:
        try:
            signal.setitimer(signal.ITIMER_REAL, 0)
            run()
        except TimeUp:
            os._exit(1)
        except BaseException:  # noqa: BLE001
            os._exit(2)
        os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    time.sleep(seconds)
    os.kill(child, signal.SIGCONT)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
