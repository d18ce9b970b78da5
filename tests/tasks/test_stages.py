"""Every stage of the line has one task."""

from envmill.pipeline.line import STEP
from tasks.policy import POLICY
from tasks.stages import TASKS

TAGS = {
    "mine": {"model"},
    "generate": {"model", "jail"},
    "build": {"model", "jail"},
    "verify": {"jail"},
    "filter": {"jail"},
    "collect": {"jail"},
    "export": set(),
}


def test_every_stage_has_a_task_of_its_name() -> None:
    assert set(TASKS) == {step.stage for step in STEP.values()}
    assert {stage: task.name for stage, task in TASKS.items()} == {stage: stage for stage in TASKS}


def test_tasks_bear_what_they_take() -> None:
    assert {stage: task.tags for stage, task in TASKS.items()} == TAGS


def test_prefect_tells_the_tasks_apart() -> None:
    assert len({task.task_key for task in TASKS.values()}) == len(TASKS)


def test_every_task_follows_the_policy() -> None:
    assert {(task.retries, task.persist_result, task.task_run_name) for task in TASKS.values()} == {
        (POLICY["retries"], POLICY["persist_result"], POLICY["task_run_name"])
    }
