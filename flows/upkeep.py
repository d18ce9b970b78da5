"""Upkeep: what was shipped is judged again every week, and the lake is kept in few files."""

import asyncio
from typing import Any

from prefect import flow, get_run_logger
from prefect.artifacts import acreate_table_artifact
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from prefect.tasks import Task

from envmill.base.errors import StepFailed
from envmill.gates.base import GateContext
from envmill.kinds import open_sandbox
from envmill.lake.compaction import compact as compact_run
from envmill.lake.lake import Lake
from envmill.lake.stores import open_store
from envmill.pipeline.reverify import Shipped, list_shipped
from flows.surroundings import read_settings
from schemas.quality import Withdrawal
from schemas.rollout import Bundle
from schemas.run import number_of
from schemas.upkeep import CompactConfig, ReverifyConfig
from tasks.reverify import ROUND, ReverifyContext
from tasks.reverify import reverify as judge_one

judge: Task[..., Any] = judge_one
_AT_ONCE = 8
"""Environments under way at once: their states are held meanwhile."""


@flow(name="reverify", flow_run_name="reverify", persist_result=False)
async def reverify(config: ReverifyConfig) -> None:
    """Judge shipped environments and scenarios again; what fails is withdrawn, and the bundles that
    hold it are named."""
    settings, began = read_settings(), flow_run.get_scheduled_start_time()
    lake = Lake(open_store(settings.lake))
    lacking = {
        one.key: one
        for one in list_shipped(lake)[: config.environments]
        if one.judged_at < began.isoformat()
    }
    get_run_logger().info("%d shipped environments to judge again", len(lacking))
    seed = number_of(began) if config.seed is None else config.seed
    async with open_sandbox(settings) as sandbox:
        token = ROUND.set(
            ReverifyContext(lake, GateContext(sandbox, seed=seed, episodes=config.search), lacking)
        )
        try:
            states = await _judge_all(list(lacking))
        finally:
            ROUND.reset(token)
    await _show_withdrawals(lake, lacking, began.isoformat())
    _raise_failures(states)


async def _judge_all(keys: list[str]) -> list[State[Any]]:
    places = asyncio.Semaphore(_AT_ONCE)

    async def one(key: str) -> State[Any]:
        async with places:
            state: State[Any] = await judge(key, return_state=True)
            return state

    return await asyncio.gather(*(one(key) for key in keys))


async def _show_withdrawals(lake: Lake, judged: dict[str, Shipped], since: str) -> None:
    paths = {
        bundle.id: bundle.path
        for run in lake.runs_with(Bundle)
        for bundle in lake.read(Bundle, run)
    }
    fresh = [
        row
        for run in sorted({one.run for one in judged.values()})
        for row in lake.read(Withdrawal, run)
        if row.withdrawn_at >= since
    ]
    rows = [
        {
            "subject": one.subject,
            "reason": one.reason,
            "bundles": ", ".join(paths.get(key, key) for key in one.bundles),
        }
        for one in fresh
    ]
    await acreate_table_artifact(
        rows,
        key="withdrawals",
        description="What is recalled, and the bundles that hold it: tell those who train on them.",
    )
    for row in rows:
        get_run_logger().warning("withdrawn: %(subject)s, held by %(bundles)s: %(reason)s", row)


def _raise_failures(states: list[State[Any]]) -> None:
    failed = [state for state in states if not state.is_completed()]
    if failed:
        told = "\n".join(str(state.message) for state in failed)
        raise StepFailed(
            f"{len(failed)} of {len(states)} environments could not be judged; the others are "
            f"saved. Retry judges these.\n{told}"
        )


@flow(name="compact", flow_run_name="compact", persist_result=False)
async def compact(config: CompactConfig) -> None:
    """Merge each run's many files into few, and remove what was replaced long ago. Safe beside runs
    that are under way."""
    lake = Lake(open_store(read_settings().lake))
    done = [
        await asyncio.to_thread(compact_run, lake, run, None, config.grace)
        for run in ([config.run] if config.run else lake.runs())
    ]
    rows = [vars(one) for one in done]
    await acreate_table_artifact(
        rows, key="compaction", description="Files replaced, added and deleted, run by run."
    )
    get_run_logger().info(
        "%d runs, %d files replaced, %d deleted",
        len(done),
        sum(one.replaced for one in done),
        sum(one.deleted for one in done),
    )
