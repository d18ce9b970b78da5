"""How every task is run: nothing cached, an outage tried twice more, later each time, everything
else left to Retry."""

from typing import Any, TypedDict

from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task

from envmill.base.errors import EnvMillError, TimeOver


class TaskOptions(TypedDict):
    """Options every task shares."""

    cache_policy: Any
    persist_result: bool
    retries: int
    retry_delay_seconds: list[float]
    retry_jitter_factor: float
    retry_condition_fn: Any
    task_run_name: str
    log_prints: bool


async def is_worth_repeating(task: Task[..., Any], run: TaskRun, state: State[Any]) -> bool:  # noqa: ARG001  Prefect's signature
    """Items in error may come right; a damaged lake or a wrong setting will not."""
    try:
        await state.aresult()
    except EnvMillError as error:
        return error.retryable and not _is_slow(error)
    except Exception:  # noqa: BLE001  whatever it is, it is not ours to repeat
        return False
    return False


def _is_slow(error: EnvMillError) -> bool:
    """Whether every item that failed waited for an answer until the time of its call was over: the
    same request asked again may be
    paid twice, so a person decides."""
    reasons: dict[str, str] = error.facts.get("reasons", {})
    return bool(reasons) and all(
        why.startswith(f"{TimeOver.__name__.lower()}:") for why in reasons.values()
    )


POLICY: TaskOptions = {
    # the lake says what is done; a lost result cache would repeat paid work in silence
    "cache_policy": NO_CACHE,
    "persist_result": False,
    # the door has waited out what is short; these are for what took the jail or the whole batch
    "retries": 2,
    "retry_delay_seconds": [2.0, 10.0],
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": is_worth_repeating,
    "task_run_name": "{step}-b{bucket:02d}",
    "log_prints": False,
}
