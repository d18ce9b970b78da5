"""How flows walk: a run id, an opened walk, and one step as a barrier over its tasks."""

import asyncio
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from prefect import get_run_logger
from prefect.client.schemas.objects import State
from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
from prefect.runtime import flow_run

from envmill.base.errors import Pending, StepFailed
from envmill.base.settings import Settings
from envmill.lake.events import note
from envmill.models.handing import outlast
from envmill.models.role_models import find_warnings
from envmill.pipeline.line import PipelineStep
from envmill.pipeline.runner import Runner
from flows.local.lease import hold_lease
from flows.opening import open_walk
from flows.pending import put_off
from flows.showing import RunArtifacts
from flows.spread.names import RunnerName
from flows.surroundings import read_settings
from schemas.run import RunConfig
from tasks.night import check_night, is_judged
from tasks.quality import check_run, check_step
from tasks.stages import TASKS
from tasks.walking import WALK

Work = Callable[[PipelineStep, int], Awaitable[State[Any]]]
"""Does one bucket of a step; the end of its task."""

_UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
PAUSES = (15.0, 30.0, 60.0, 120.0)
"""Seconds before a server that had no slot to give is asked again; each asking has lasted two
minutes by itself."""
_LOGGED = 50
"""Most items of a step whose failure becomes a line of the log; its page has them all."""


async def walk_run(
    config: RunConfig, steps: Sequence[PipelineStep] = (), runner: RunnerName = "local"
) -> None:
    """Walk the steps of a run one after the other, all unless some are named; the first that fails ends it. What was made is judged once
    its calls are sealed."""
    async with _opened(config) as walk:
        board = RunArtifacts(walk)
        try:
            with _failure_noted(walk):
                async with _crew(runner, walk) as work:
                    for step in (steps := steps or walk.line):
                        await walk_step(board, step, work)
        except Pending as pending:
            await put_off(pending)
    with _failure_noted(walk), _at_hand(walk):
        await check_run(steps[-1].name)
    await board.close()
    note(walk.lake, walk.context.run, "finished", [step.name for step in steps])


@asynccontextmanager
async def _crew(runner: RunnerName, walk: Runner) -> AsyncGenerator[Work]:
    """How a bucket is done: by a task of this process, or by a worker of a cluster."""
    if runner == "local":
        yield lambda step, bucket: start_task(TASKS[step.stage], step, bucket)
        return
    from flows.spread.crew import open_crew  # tasks of a cluster are a second to import

    async with open_crew(runner, walk, walk.context.settings) as crew:
        yield crew.work


async def walk_step(board: RunArtifacts, step: PipelineStep, work: Work) -> None:
    """All buckets that lack something, at once; then fail with every item and reason, if any, or with the promises that are broken."""
    walk = board.walk
    buckets = await walk.plan(step)
    get_run_logger().info("%s: %d buckets to do", step.name, len(buckets))
    if step.stage == "export" and (
        buckets or not await asyncio.to_thread(is_judged, walk)
    ):  # a night that kept nothing is judged, too
        await check_night()
    advance = board.begin(step, len(buckets))

    async def do(bucket: int) -> State[Any]:
        state = await work(step, bucket)
        await advance()
        return state

    states = await asyncio.gather(*(do(bucket) for bucket in buckets))
    failures = [failure for state in states if (failure := await _failure_of(state))]
    pending = await walk.conclude(step)
    async with board.showing(step, failures):
        if waits := outlast(pending, failures):
            raise waits
        if failures:
            raise _merge(step, failures)
        await check_step(step.name)


async def start_task(task: Any, step: PipelineStep, bucket: int) -> State[Any]:
    """The task's end. A server too busy to hand out a slot is asked again: nothing of the task has
    begun."""
    for pause in PAUSES:
        try:
            return await task(step.name, bucket, return_state=True)
        except ConcurrencySlotAcquisitionError as error:
            get_run_logger().warning("%s: %s. Asked again in %g s.", step.name, error, pause)
            await asyncio.sleep(pause)
    return await task(step.name, bucket, return_state=True)


def run_name() -> str:
    """The run's name in the UI: which run, and what it makes. A step's page also says which
    step."""
    config: RunConfig = flow_run.get_parameters()["config"]
    run = config.run or flow_run.get_id() or "run"
    named = run[:8] if _UUID.fullmatch(run) else run
    flow = flow_run.get_flow_name()
    if flow != "factory":
        return f"{flow} of {named}"
    wanted = f"until {config.target} are kept" if config.target else f"× {config.scenarios}"
    return (
        named
        if config.run
        else f"{named} {config.recipe} by {config.model or config.provider}: "
        f"{config.environments} {wanted}"
    )


@asynccontextmanager
async def _opened(config: RunConfig) -> AsyncGenerator[Runner]:
    """The run id is the flow run's own, so that Retry goes on with it. Without a seed the scheduled
    date becomes one."""
    run = config.run or str(flow_run.get_id())
    config = config.opened_on(flow_run.get_scheduled_start_time())
    settings: Settings = read_settings()
    async with (
        hold_lease(settings.home, str(flow_run.get_id())),
        open_walk(run, config, settings) as walk,
    ):
        for warning in find_warnings(walk.context.config):
            get_run_logger().warning(warning)
        with _at_hand(walk):
            yield walk


@contextmanager
def _at_hand(walk: Runner) -> Generator[None]:
    """Tasks of this flow run work on this walk."""
    token = WALK.set(walk)
    try:
        yield
    finally:
        WALK.reset(token)


@contextmanager
def _failure_noted(walk: Runner) -> Generator[None]:
    try:
        yield
    except Pending as pending:
        note(walk.lake, walk.context.run, "pending", str(pending))
        raise
    except BaseException as error:
        note(walk.lake, walk.context.run, "failed", str(error))
        raise


async def _failure_of(state: State[Any]) -> BaseException | None:
    if state.is_completed():
        return None
    result = await state.aresult(raise_on_failure=False)
    return (
        result
        if isinstance(result, BaseException)
        else StepFailed(f"a task ended {state.name}: {state.message}")
    )


def _merge(step: PipelineStep, failures: Sequence[BaseException]) -> BaseException:
    foreign = [failure for failure in failures if not isinstance(failure, StepFailed)]
    if foreign:
        return foreign[0]
    items = sorted(
        item
        for failure in failures
        if isinstance(failure, StepFailed)
        for item in failure.facts.get("items", [])
    )
    reasons = {
        item: why
        for failure in failures
        if isinstance(failure, StepFailed)
        for item, why in failure.facts.get("reasons", {}).items()
    }
    for item, why in sorted(reasons.items())[:_LOGGED]:
        get_run_logger().error("%s: %s", item, why)
    told = "\n".join(str(failure) for failure in failures)
    return StepFailed(
        f"{step.name} failed. Fix the cause, then click Retry: only unfinished items run "
        f"again.\n{told}",
        items=items,
    )
