"""A server that is too busy to hand out a task's slot is asked again; what fails otherwise is
not."""

import logging
from types import SimpleNamespace
from typing import Any

import pytest
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError

from flows import running

STEP: Any = SimpleNamespace(name="environments-build")


class Task:
    """Fails so often before it runs."""

    def __init__(
        self, failures: int, error: type[Exception] = ConcurrencySlotAcquisitionError
    ) -> None:
        self.left, self.error, self.asked = failures, error, 0

    async def __call__(self, step: str, bucket: int, *, return_state: bool) -> Any:
        self.asked += 1
        if self.asked <= self.left:
            raise self.error("503 Service Unavailable")
        assert return_state
        return f"{step} {bucket} done"


@pytest.fixture(autouse=True)
def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(running, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(running, "get_run_logger", lambda: logging.getLogger("slots"))


async def test_a_busy_server_is_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    task = Task(2)
    assert await running.start_task(task, STEP, 3) == "environments-build 3 done"
    assert task.asked == 3
    assert [record.getMessage() for record in caplog.records] == [
        "environments-build: 503 Service Unavailable. Asked again in 0 s."
    ] * 2


async def test_one_that_stays_busy_ends_the_step() -> None:
    task = Task(9)
    with pytest.raises(ConcurrencySlotAcquisitionError):
        await running.start_task(task, STEP, 0)
    assert task.asked == 3


async def test_another_failure_is_not_repeated() -> None:
    task = Task(1, ValueError)
    with pytest.raises(ValueError, match="503"):
        await running.start_task(task, STEP, 0)
    assert task.asked == 1
