"""What attempts at one scenario take: sixteen of the skilled policy side by side, at once and in a
conversation."""

import asyncio
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from envmill.agents import find_policy
from envmill.agents.attempts import attempt, make_player
from envmill.base.settings import Settings
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP, STEPS
from flows.opening import open_walk
from schemas.environment import Environment
from schemas.rollout import Form
from schemas.run import RunConfig
from schemas.scenario import Scenario

ATTEMPTS, REPEATS = 16, 10

_RUN = "bench"
_POLICY = "skilled@0.7"


def measure_attempts(scenarios: int = 6, repeats: int = REPEATS) -> Iterator[dict[str, Any]]:
    """The median over scenarios of each one's best time: the machine has other things to do as
    well."""
    with tempfile.TemporaryDirectory() as folder:
        names = {"ENVMILL_HOME": "home", "ENVMILL_LAKE": "lake", "ENVMILL_BUNDLES": "bundles"}
        settings = Settings.read(
            {key: str(Path(folder) / name) for key, name in names.items()} | {"ENVMILL_PORT": "0"}
        )
        yield from asyncio.run(_measure(settings, scenarios, repeats))


async def _measure(settings: Settings, scenarios: int, repeats: int) -> list[dict[str, Any]]:
    built = STEPS[: STEPS.index(STEP["scenarios-verify"])]
    async with open_walk(
        _RUN, RunConfig(environments=3, scenarios=scenarios, seed=1, mistakes=0.0), settings
    ) as walk:
        await walk.walk(built)
        lake = Lake(settings.lake)
        homes = {one.id: one for one in lake.read(Environment, _RUN)}
        posed = [one for one in lake.read(Scenario, _RUN) if one.user.hidden][:scenarios]
        times: dict[Form, list[tuple[float, float]]] = {"single": [], "conversation": []}
        for form, found in times.items():
            for one in posed:
                models, config = walk.context.door.open_session("", one.id), RunConfig(form=form)
                play = make_player(
                    find_policy(_POLICY),
                    one,
                    homes[one.environment],
                    walk.context.sandbox,
                    "probe",
                    models,
                    config,
                )
                found.append(min([await _time(play) for _ in range(repeats)]))
    calls = statistics.median(len(one.oracle) for one in posed)
    what = (
        f"{ATTEMPTS} attempts by {_POLICY} at one scenario of {calls:g} calls, median of "
        f"{len(posed)} scenarios"
    )
    single, talks = (
        [statistics.median(column) for column in zip(*times[form], strict=True)] for form in times
    )
    return [
        {"id": "attempts", "what": what, "measured": single[0], "unit": "ms"},
        {
            "id": "attempts_cpu",
            "what": f"processor time of the flow process for {what}",
            "measured": single[1],
            "unit": "ms",
        },
        {
            "id": "conversations",
            "what": f"{what}, in conversation",
            "measured": talks[0],
            "unit": "ms",
        },
        {
            "id": "conversations_cpu",
            "what": f"processor time of the same for {what}, in conversation",
            "measured": talks[1],
            "unit": "ms",
        },
    ]


async def _time(play: Any) -> tuple[float, float]:
    """By the clock, and by the processor."""
    began, spent = time.perf_counter(), time.process_time()
    made = [one async for one in attempt(play, lambda made: False, ATTEMPTS, side_by_side=ATTEMPTS)]
    assert len(made) == ATTEMPTS
    return 1000 * (time.perf_counter() - began), 1000 * (time.process_time() - spent)
