"""One flow for each step of the line. Each runs alone on any run, and does what the run still lacks
at that step."""

from collections.abc import Callable, Coroutine
from typing import Any

from prefect import Flow, flow

from envmill.base.errors import SettingsError
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP
from flows.running import run_name, walk_run
from flows.spread.names import RunnerName
from flows.surroundings import read_settings
from schemas.run import RunConfig

StepFlow = Flow[..., Coroutine[Any, Any, None]]


def _flow_of(name: str) -> StepFlow:
    async def step(config: RunConfig, runner: RunnerName = "local") -> None:
        if not config.run or config.run not in Lake(read_settings().lake).runs():
            raise SettingsError(
                f"{name} goes on with a run: set `run` to its id (see `envmill status`). "
                f"{config.run!r} is none."
            )
        await walk_run(config, [STEP[name]], runner)

    step.__name__ = name.replace("-", "_")
    step.__doc__ = f"Do what the run still lacks at {name}; the steps before it must be finished."
    decorate: Callable[..., StepFlow] = flow(
        name=name, flow_run_name=run_name, persist_result=False
    )
    return decorate(step)


FLOWS: dict[str, StepFlow] = {name.replace("-", "_"): _flow_of(name) for name in STEP}
"""Entry point of prefect.yaml → its flow."""

globals().update(FLOWS)
