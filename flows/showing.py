"""What a run's page shows of it: how far each step is, what became of its candidates, what that
cost, and which items failed.

These are views of the lake: a server that cannot take one right now costs a line of the log, never
the step.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx
from prefect import get_run_logger
from prefect.artifacts import (
    acreate_markdown_artifact,
    acreate_progress_artifact,
    acreate_table_artifact,
    aupdate_progress_artifact,
)

from envmill.interop.exporters.base import StepCount
from envmill.pipeline.line import PipelineStep
from envmill.pipeline.runner import Runner
from envmill.report.place import find_place


@dataclass
class RunArtifacts:
    """The pages of one walk."""

    walk: Runner
    _counts: dict[str, StepCount] = field(default_factory=dict)
    _bar: asyncio.Task[Any] | None = None

    def begin(self, step: PipelineStep, buckets: int) -> Callable[[], Awaitable[None]]:
        """A bar for the step, made while it works; call what is returned whenever a bucket is
        over."""
        name, over = f"{step.name}-progress", 0
        bar = self._bar = asyncio.create_task(
            publish(
                acreate_progress_artifact(
                    0.0 if buckets else 100.0,
                    key=name,
                    description=f"Buckets of {step.name} that are over.",
                )
            )
        )

        async def advance() -> None:
            nonlocal over
            over += 1
            if (made := await bar) is not None:
                await publish(
                    aupdate_progress_artifact(artifact_id=made, progress=100.0 * over / buckets)
                )

        return advance

    @asynccontextmanager
    async def showing(
        self, step: PipelineStep, failures: Sequence[BaseException]
    ) -> AsyncGenerator[None]:
        """The run's tables as of this step, made beside what goes on in the block; there when it is left, however it is left."""
        bar, tables = self._bar, asyncio.create_task(self._end(step, failures))
        try:
            yield
        finally:
            await asyncio.gather(tables, *([bar] if bar else []))

    async def _end(self, step: PipelineStep, failures: Sequence[BaseException]) -> None:
        """An empty table of failures replaces that of the attempt before."""
        self._counts[step.name] = await asyncio.to_thread(self._count, step)
        about = f"Items of {step.name} that ended in error: mend the cause, then Retry."
        await publish(
            acreate_table_artifact(
                list_failures(failures), key=f"{step.name}-failures", description=about
            )
        )
        funnel = [_describe_funnel(one) for one in self._counts.values()]
        await publish(
            acreate_table_artifact(
                funnel, key="funnel", description="What entered each step, and what became of it."
            )
        )
        cost = [_describe_cost(one) for one in self._counts.values()]
        await publish(
            acreate_table_artifact(
                cost,
                key="cost",
                description="What each step took; a cost is empty where a price is unknown.",
            )
        )

    async def close(self) -> None:
        """Where to read on."""
        run = self.walk.context.run
        page = find_place(self.walk.context.settings.bundles, run) / "index.html"
        text = (
            f"`envmill report {run}` writes the report of this run to [{page}]({page.as_uri()}), "
            "a page to open from the disk.\n\n"
            f"`envmill funnel {run}`, `failures`, `cost` and `show` answer at once."
        )
        await publish(
            acreate_markdown_artifact(
                text, key="report", description=f"Where run {run} can be read."
            )
        )

    def _count(self, step: PipelineStep) -> StepCount:
        return self.walk.count(step)


async def publish(making: Any) -> Any:
    """What making it returns; None when the server does not take it."""
    try:
        return await making
    except httpx.HTTPError as error:
        get_run_logger().warning(
            "The server took no artifact (%s); the lake has everything.",
            error or type(error).__name__,
        )
        return None


def list_failures(failures: Sequence[BaseException]) -> list[dict[str, str]]:
    """One row per item; a failure that names none is a row of its own."""
    rows: list[dict[str, str]] = []
    for failure in failures:
        reasons: dict[str, str] = getattr(failure, "facts", {}).get("reasons", {})
        rows += [{"item": item, "why": why} for item, why in sorted(reasons.items())] or [
            {"item": "", "why": str(failure)}
        ]
    return rows


def _describe_funnel(one: StepCount) -> dict[str, Any]:
    reasons = ", ".join(
        f"{reason} {count}"
        for reason, count in sorted(one.reasons.items(), key=lambda pair: -pair[1])[:5]
    )
    return {"step": one.step, "kept": one.kept, "dropped": one.dropped, "reasons": reasons}


def _describe_cost(one: StepCount) -> dict[str, Any]:
    each = None if one.cost is None or not one.kept else round(one.cost / one.kept, 6)
    return {"step": one.step, "tokens": one.tokens, "cost": one.cost, "cost per kept": each}
