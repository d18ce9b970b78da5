"""Who works on the buckets of a run: this process, or the workers of a cluster by one of Prefect's task runners.

local   tasks of this process, on its own walk
dask    `prefect-dask`: a cluster of ENVMILL_DASK, or one of this machine's processes
ray     `prefect-ray`: a cluster of ENVMILL_RAY, or one of this machine's processes
"""

import asyncio
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from prefect import get_run_logger
from prefect.client.schemas.objects import State
from prefect.context import SettingsContext
from prefect.states import exception_to_failed_state
from prefect.task_runners import TaskRunner

from envmill.base.errors import SettingsError, StepFailed
from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.models.batch import Batch
from envmill.pipeline.line import PipelineStep
from envmill.pipeline.runner import Runner
from flows.spread.bucket import GRACE, SPREAD_TASKS, name_release
from flows.spread.names import RunnerName

_BUCKETS = 40
"""Most buckets of a step."""
_SEALING = 60.0
"""Seconds that workers get to seal what they journalled."""


class Withheld(SettingsContext):
    """Prefect's settings while a task is submitted. Task runners send the whole context along, with the server's
    credential in it; a worker has settings of its own."""

    def serialize(self, include_secrets: bool = True) -> dict[str, Any]:  # noqa: ARG002  Prefect's signature
        return {}


@dataclass
class SpreadCrew:
    """Submits buckets to a task runner, and knows which walks took part."""

    walk: Runner
    runner: TaskRunner[Any]
    threads: ThreadPoolExecutor
    tickets: set[str] = field(default_factory=set)

    async def work(self, step: PipelineStep, bucket: int) -> State[Any]:
        loop = asyncio.get_running_loop()
        asked = {"run": self.walk.context.run, "step": step.name, "bucket": bucket}
        held = SettingsContext.get()
        assert held is not None
        with Withheld(profile=held.profile, settings=held.settings):
            future = self.runner.submit(SPREAD_TASKS[step.stage], asked)
        await loop.run_in_executor(self.threads, future.wait)
        state: State[Any] = future.state
        if not state.is_final():
            lost = StepFailed(
                f"{step.name}: the cluster worker that had bucket {bucket} died. What it finished is saved; Retry."
            )
            return await exception_to_failed_state(lost)
        if state.is_completed():
            self.tickets.add(await state.aresult())
        return state

    async def release(self, lake: Lake) -> None:
        """Wait until every walk that took part is closed and has sealed what it journalled."""
        run, until = self.walk.context.run, asyncio.get_running_loop().time() + GRACE + _SEALING
        for ticket in sorted(self.tickets):
            while lake.find_fixed(run, name_release(ticket)) is None:
                if asyncio.get_running_loop().time() > until:
                    get_run_logger().warning(
                        "A worker did not say that it sealed its calls. If it died, the run's next walk seals them."
                    )
                    return
                await asyncio.sleep(0.2)


@asynccontextmanager
async def open_crew(
    name: RunnerName, walk: Runner, settings: Settings
) -> AsyncGenerator[SpreadCrew]:
    """Join or start a cluster."""
    _check(walk)
    with ThreadPoolExecutor(_BUCKETS, "buckets") as threads:
        loop = asyncio.get_running_loop()
        runner = await loop.run_in_executor(threads, make_runner, name, settings)
        opened: AbstractContextManager[TaskRunner[Any]] = runner
        await loop.run_in_executor(threads, opened.__enter__)
        try:
            # Dask starts its cluster when its client is first asked for, which would stop this loop for seconds.
            await loop.run_in_executor(threads, getattr, runner, "client", None)
            crew = SpreadCrew(walk, runner, threads)
            yield crew
            await crew.release(walk.lake)
        finally:
            await loop.run_in_executor(threads, opened.__exit__, None, None, None)


def make_runner(name: RunnerName, settings: Settings) -> TaskRunner[Any]:
    """Prefect's task runner of that name."""
    try:
        if name == "dask":
            from flows.spread.dask_runner import make_dask_runner

            return make_dask_runner(settings)
        from flows.spread.ray_runner import make_ray_runner

        return make_ray_runner(settings)
    except ImportError as error:
        raise SettingsError(
            f"The runner {name} needs packages that are not installed ({error}). Install them: pip install 'envmill[{name}]'."
        ) from error


def _check(walk: Runner) -> None:
    door = walk.context.door
    if any(isinstance(provider, Batch) for provider in (door.provider, *door.others.values())):
        raise SettingsError(
            "A run that uses batches has one process, which submits them. Use --runner local."
        )
