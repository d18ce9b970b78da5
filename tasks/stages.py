"""Tasks of the line: one for each stage, which does one bucket of a step."""

from typing import Any, get_args

from prefect import task
from prefect.tasks import Task

from envmill.pipeline.line import STEP
from schemas.ledger import Stage
from tasks.policy import POLICY
from tasks.walking import WALK

_TAGS: dict[Stage, list[str]] = {
    "mine": ["model"],
    "generate": ["model", "jail"],
    "build": ["model", "jail"],
    "verify": ["jail"],
    "filter": ["jail"],
    "collect": ["jail"],
    "export": [],
}
"""What a stage takes. A concurrency limit of the server on a tag bounds all tasks that bear it."""


def _make_task(stage: Stage) -> Task[..., Any]:
    async def work(step: str, bucket: int) -> int:
        """Number of items worked on; 0 when the lake lacks nothing."""
        return await WALK.get().work(STEP[step], bucket)

    work.__name__ = work.__qualname__ = stage  # Prefect's key of a task is made of them
    return task(name=stage, tags=_TAGS[stage], **POLICY)(work)


TASKS: dict[Stage, Task[..., Any]] = {stage: _make_task(stage) for stage in get_args(Stage)}
"""Stage → its task."""
