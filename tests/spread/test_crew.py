"""What travels to a cluster, and how a worker keeps a run's walk."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

import cloudpickle
import pytest
from prefect.context import SettingsContext, serialize_context
from prefect.settings import PREFECT_CLIENT_CUSTOM_HEADERS, temporary_settings

from envmill.errors import SettingsError, StepFailed
from envmill.settings import Settings
from flows.spread import bucket as worker
from flows.spread.bucket import SPREAD_TASKS, WalkKeeper, name_release
from flows.spread.crew import Withheld, make_runner
from tasks.stages import TASKS

STEP = "environments-generate"
CREDENTIAL = "Basic cGxhbnRlZDpjcmVkZW50aWFs"
KEY = "sk-planted-key-of-a-model"


class Walk:
    """Stands in for a walk: notes what it was asked, and who had it at once."""

    def __init__(self, failing: bool = False) -> None:
        self.lake, self.failing = self, failing
        self.buckets: list[int] = []
        self.fixed: list[str] = []
        self.closed = False

    async def work(self, step: Any, bucket: int) -> int:
        assert step.name == STEP
        assert not self.closed
        await asyncio.sleep(0.02)
        self.buckets.append(bucket)
        if self.failing:
            raise StepFailed("one item ended in error", items=["a"])
        return 1

    def fix(self, run: str, name: str, value: dict[str, Any]) -> None:
        assert self.closed, "said before its calls were sealed"
        assert run
        assert value
        self.fixed.append(name)


@pytest.fixture
def walks(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> list[Walk]:
    """Walks that were opened; none is real."""
    opened: list[Walk] = []

    @asynccontextmanager
    async def open_walk(run: str, config: Any, given: Settings) -> AsyncGenerator[Walk]:
        assert config.run == run
        assert given == settings
        opened.append(walk := Walk(failing=run == "failing"))
        try:
            yield walk
        finally:
            walk.closed = True

    monkeypatch.setattr(worker, "open_walk", open_walk)
    monkeypatch.setattr(worker, "read_settings", lambda: settings)
    return opened


def wait_for(walk: Walk) -> None:
    until = time.monotonic() + 10
    while not walk.fixed:
        assert time.monotonic() < until, "it was never closed"
        time.sleep(0.01)


def test_all_threads_of_a_worker_share_a_walk(walks: list[Walk]) -> None:
    keeper, tickets = WalkKeeper(grace=0.1), list[str]()
    threads = [
        threading.Thread(target=lambda n=n: tickets.append(keeper.work("run", STEP, n)))
        for n in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wait_for(walks[0])
    assert len(walks) == 1
    assert sorted(walks[0].buckets) == list(range(8))
    assert [name_release(ticket) for ticket in set(tickets)] == walks[0].fixed


def test_a_walk_that_rests_is_closed_and_the_next_bucket_opens_another(walks: list[Walk]) -> None:
    keeper = WalkKeeper(grace=0.05)
    first = keeper.work("run", STEP, 0)
    wait_for(walks[0])
    second = keeper.work("run", STEP, 1)
    wait_for(walks[1])
    assert first != second
    assert [walk.buckets for walk in walks] == [[0], [1]]


def test_a_walk_that_is_wanted_again_stays_open(walks: list[Walk]) -> None:
    keeper = WalkKeeper(grace=0.3)
    for number in range(5):
        keeper.work("run", STEP, number)
        time.sleep(0.1)
    assert len(walks) == 1
    assert not walks[0].closed


def test_a_bucket_that_fails_fails_its_task_and_the_walk_is_closed_all_the_same(
    walks: list[Walk],
) -> None:
    keeper = WalkKeeper(grace=0.05)
    with pytest.raises(StepFailed, match="one item"):
        keeper.work("failing", STEP, 0)
    wait_for(walks[0])


def test_two_runs_have_two_walks(walks: list[Walk]) -> None:
    keeper = WalkKeeper(grace=0.05)
    assert keeper.work("one", STEP, 0) != keeper.work("two", STEP, 0)
    assert len(walks) == 2


def test_no_credential_travels_with_a_task(monkeypatch: pytest.MonkeyPatch) -> None:
    """Task runners pickle the task, its arguments and this context."""
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with temporary_settings({PREFECT_CLIENT_CUSTOM_HEADERS: {"Authorization": CREDENTIAL}}):
        assert CREDENTIAL.encode() in cloudpickle.dumps(serialize_context()), (
            "Prefect has changed: is this still needed?"
        )
        held = SettingsContext.get()
        assert held is not None
        with Withheld(profile=held.profile, settings=held.settings):
            sent = [
                cloudpickle.dumps(
                    (one, {"run": "r", "step": STEP, "bucket": 1}, serialize_context())
                )
                for one in SPREAD_TASKS.values()
            ]
    for one in sent:
        assert CREDENTIAL.encode() not in one
        assert KEY.encode() not in one


def test_a_task_is_sent_by_name_and_keeps_its_policy() -> None:
    for stage, spread in SPREAD_TASKS.items():
        again = cloudpickle.loads(cloudpickle.dumps(spread))
        assert again.fn is worker.work_bucket
        own = TASKS[stage]
        assert (
            again.name,
            again.tags,
            again.retries,
            again.retry_condition_fn,
            again.task_run_name,
        ) == (
            own.name,
            own.tags,
            own.retries,
            own.retry_condition_fn,
            own.task_run_name,
        )


def test_a_runner_whose_packages_are_missing_says_what_to_install(settings: Settings) -> None:
    for name in ("dask", "ray"):
        try:
            __import__(f"prefect_{name}")
        except ImportError:
            with pytest.raises(SettingsError, match=rf"pip install 'envmill\[{name}\]'"):
                make_runner(name, settings)
