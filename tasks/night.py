"""Task `night`: before a run exports, its rows go through the suites; what they do not expect holds
the export back until a review."""

import asyncio
from collections.abc import Mapping

from prefect import task
from prefect.artifacts import acreate_markdown_artifact
from prefect.cache_policies import NO_CACHE

from envmill.base.errors import StepFailed
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from envmill.pipeline.runner import Runner
from quality.nights.judging import GATE, JUDGED, JudgedNight, judge_night
from schemas.base import digest
from schemas.ledger import Evidence
from schemas.run import RunConfig
from tasks.walking import WALK

_OWN = {
    "run",
    "seed",
    "first",
    "environments",
    "target",
    "max_candidates",
    "budget",
    "budget_tokens",
    "reuse",
    "recording",
    "playback",
    "record",
}
"""Settings in which nights of one family may differ."""
_LATEST = 60
"""Runs among which earlier nights are looked for."""


def is_judged(walk: Runner) -> bool:
    """Whether a run's rows went through the suites before."""
    with open_views(walk.lake, [walk.context.run], question=JUDGED) as connection:
        return connection.execute(JUDGED, {"run": walk.context.run}).fetchone() is not None


@task(name="night", task_run_name="night", cache_policy=NO_CACHE, persist_result=False)
async def check_night() -> None:
    """Stop before the export of a night that breaks an expectation and that nobody has accepted."""
    walk = WALK.get()
    found = await asyncio.to_thread(_judge, walk)
    run = walk.context.run
    dossier = Evidence(gate=GATE, subject=f"run:{run}", finding=found.to_json())
    walk.lake.put(Evidence, [dossier], f"{GATE}-{dossier.id}", walk.stamp(GATE, "", 0, 1))
    await acreate_markdown_artifact(
        found.to_markdown(), key=GATE, description=f"What run {run} is expected to be like."
    )
    if not found.passes:
        raise StepFailed(describe(run, found.broken))


def describe(run: str, broken: Mapping[str, str]) -> str:
    """What is held back, why, and the two ways on."""
    told = "\n".join(f"  {name}: {said}" for name, said in broken.items())
    return (
        f"Run {run} is not exported, because its rows are not as expected:\n{told}\n"
        f"Read `envmill report {run}`. If the night is right as it is: `envmill review {run} "
        "--accept --note WHY`, then Retry or export it."
    )


def _judge(walk: Runner) -> JudgedNight:
    lake, run = walk.lake, walk.context.run
    given = [
        *walk.context.config.environments_of.split(","),
        *walk.context.config.harden.split(","),
    ]
    with open_views(lake, list_latest(lake, run, *given)) as connection:
        return judge_night(connection, run, find_family(walk.context.config))


def list_latest(lake: Lake, run: str, *given: str) -> list[str]:
    """The run, those that it takes environments from, and the latest ones."""
    known = lake.runs()
    return sorted({*known[-_LATEST:], run, *(one for one in known if one in given)})


def find_family(config: RunConfig) -> str:
    """What was changed on purpose is no drift: nights are compared with those of the same settings.
    A setting that a later version
    adds, and that is left alone, changes no family."""
    return digest(config.model_dump(mode="json", exclude=_OWN, exclude_defaults=True), 12)
