"""What travels to a cluster, and how a worker keeps a run's walk."""

import asyncio
import threading
import time
from collections.abc import AsyncGenerator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import cloudpickle
import pytest
from prefect.client.schemas.objects import State
from prefect.context import SettingsContext, serialize_context
from prefect.settings import PREFECT_CLIENT_CUSTOM_HEADERS, temporary_settings
from prefect.states import Completed, Running, exception_to_failed_state

from envmill.base.errors import SettingsError, StepFailed
from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP as PIPELINE_STEP
from flows.spread import bucket as worker
from flows.spread.bucket import SPREAD_TASKS, WalkKeeper, name_release
from flows.spread.crew import SpreadCrew, Withheld, make_runner
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


class Submitted:
    """A future of a task runner, in a state of the test's choosing."""

    def __init__(self, state: State[Any]) -> None:
        self.state = state

    def wait(self, timeout: float | None = None) -> None:
        return


class Runner:
    """A task runner that notes what it is given, and what it would send along."""

    def __init__(self, state: State[Any]) -> None:
        self.state, self.sent = state, list[tuple[str, dict[str, Any], Any]]()

    def submit(self, task: Any, parameters: dict[str, Any]) -> Submitted:
        self.sent.append((task.name, parameters, serialize_context()["settings_context"]))
        return Submitted(self.state)


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def make_crew(state: State[Any], threads: ThreadPoolExecutor) -> tuple[SpreadCrew, Runner]:
    walk: Any = SimpleNamespace(context=SimpleNamespace(run="r1"))
    runner: Any = Runner(state)
    return SpreadCrew(walk, runner, threads), runner


async def test_three_names_are_sent_and_a_ticket_comes_back(threads: ThreadPoolExecutor) -> None:
    crew, runner = make_crew(Completed(data="ticket-1"), threads)
    with temporary_settings({PREFECT_CLIENT_CUSTOM_HEADERS: {"Authorization": CREDENTIAL}}):
        assert (await crew.work(PIPELINE_STEP[STEP], 7)).is_completed()
    assert runner.sent == [("generate", {"run": "r1", "step": STEP, "bucket": 7}, {})]
    assert crew.tickets == {"ticket-1"}


async def test_a_task_that_failed_and_one_whose_worker_died_fail_the_step(
    threads: ThreadPoolExecutor,
) -> None:
    failed = await exception_to_failed_state(StepFailed("one item", items=["a"]))
    crew, _ = make_crew(failed, threads)
    assert (await crew.work(PIPELINE_STEP[STEP], 0)).is_failed()
    crew, _ = make_crew(Running(), threads)
    lost = await crew.work(PIPELINE_STEP[STEP], 3)
    with pytest.raises(StepFailed, match="cluster worker that had bucket 3 died"):
        await lost.aresult()
    assert crew.tickets == set()


async def test_the_end_of_a_run_waits_until_every_walk_has_sealed(
    threads: ThreadPoolExecutor, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    crew, _ = make_crew(Completed(data="late"), threads)
    await crew.work(PIPELINE_STEP[STEP], 0)
    releasing = asyncio.create_task(crew.release(lake))
    await asyncio.sleep(0.3)
    assert not releasing.done()
    lake.fix("r1", name_release("late"), {"sealed": True})
    await asyncio.wait_for(releasing, 5)


@pytest.mark.parametrize(
    ("name", "given", "told"),
    [
        ("dask", {"ENVMILL_DASK": "tcp://host:8786"}, "tls://"),
        ("ray", {"ENVMILL_RAY": "10.0.0.1:6379"}, "RAY_USE_TLS"),
    ],
)
def test_a_cluster_that_anybody_could_reach_is_refused(
    name: Any, given: dict[str, str], told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip(f"prefect_{name}")
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    with pytest.raises(SettingsError, match=told):
        make_runner(name, Settings.read(given))
