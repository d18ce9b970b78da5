"""One flow per step, each runnable alone on any run: it does what the run still lacks there."""

from collections.abc import Callable, Coroutine
from typing import Any

from prefect import Flow, flow

from envmill.errors import SettingsError
from envmill.lake.lake import Lake
from envmill.line import STEP
from flows.surroundings import read_settings
from flows.walking import run_name, walk_run
from schemas.run import RunConfig

StepFlow = Flow[[RunConfig], Coroutine[Any, Any, None]]


def _flow_of(name: str) -> StepFlow:
    async def step(config: RunConfig) -> None:
        if not config.run or config.run not in Lake(read_settings().lake).runs():
            raise SettingsError(f"{name} goes on with a run: set `run` to its id (see `envmill status`). {config.run!r} is none.")
        await walk_run(config, [STEP[name]])

    step.__name__ = name.replace("-", "_")
    step.__doc__ = f"Do what the run still lacks at {name}; the steps before it must be finished."
    decorate: Callable[..., StepFlow] = flow(name=name, flow_run_name=run_name, persist_result=False)
    return decorate(step)


environments_mine = _flow_of("environments-mine")
environments_generate = _flow_of("environments-generate")
environments_build = _flow_of("environments-build")
environments_verify = _flow_of("environments-verify")
environments_filter = _flow_of("environments-filter")
scenarios_generate = _flow_of("scenarios-generate")
scenarios_build = _flow_of("scenarios-build")
scenarios_verify = _flow_of("scenarios-verify")
scenarios_filter = _flow_of("scenarios-filter")
scenarios_collect = _flow_of("scenarios-collect")
scenarios_export = _flow_of("scenarios-export")
