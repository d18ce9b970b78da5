"""What a task tries again by itself."""

import pytest
from prefect import task
from prefect.client.schemas.objects import TaskRun
from prefect.states import Failed

from envmill.base.errors import LakeError, Outage, SettingsError, StepFailed
from tasks.policy import POLICY, is_worth_repeating


@task(**POLICY)
async def nothing(step: str, bucket: int) -> int:
    return 0


RUN = TaskRun.model_construct()


@pytest.mark.parametrize(
    ("failure", "worth"),
    [
        (StepFailed("items in error"), True),
        (LakeError("damaged"), False),
        (SettingsError("wrong"), False),
        (Outage("nobody answers"), True),
        (ZeroDivisionError(), False),
    ],
)
async def test_only_items_in_error_are_worth_another_try(failure: Exception, worth: bool) -> None:
    assert await is_worth_repeating(nothing, RUN, Failed(data=failure)) is worth


def test_nothing_is_cached() -> None:
    assert nothing.persist_result is False
    assert nothing.retries == 2
