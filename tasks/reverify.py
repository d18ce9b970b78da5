"""Task `reverify`: one shipped environment and its scenarios, judged again."""

from contextvars import ContextVar
from dataclasses import dataclass

from prefect import task

from envmill.base.errors import StepFailed
from envmill.gates.base import GateContext
from envmill.lake.lake import Lake
from envmill.pipeline.reverify import Shipped, judge_again, save
from tasks.policy import POLICY, TaskOptions


@dataclass(frozen=True)
class ReverifyContext:
    """What the tasks of one re-verification share."""

    lake: Lake
    means: GateContext
    shipped: dict[str, Shipped]
    """By key."""


ROUND: ContextVar[ReverifyContext] = ContextVar("round")


_POLICY: TaskOptions = {**POLICY, "task_run_name": "{shipped}"}


@task(name="reverify", tags=["jail"], **_POLICY)
async def reverify(shipped: str) -> int:
    """Subjects withdrawn. What could not be judged is saved as such, and fails the task."""
    at = ROUND.get()
    meant = at.shipped[shipped]
    judged = await judge_again(at.lake, meant, at.means)
    save(at.lake, meant.run, judged)
    if judged.errors:
        told = "; ".join(f"{one.subject}: {one.gate}: {one.reason}" for one in judged.errors[:5])
        raise StepFailed(
            f"{len(judged.errors)} of {len(judged.verdicts)} could not be judged. {told}",
            items=[one.subject for one in judged.errors],
        )
    return len(judged.withdrawals)
