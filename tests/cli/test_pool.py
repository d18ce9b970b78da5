"""The pool's job: what a request names for its run has no effect on the worker, even where the
server let it through."""

from typing import Any

import pytest
from prefect.workers.process import ProcessJobConfiguration, ProcessWorker

from flows.local.pools import JOB

NAMED: dict[str, Any] = {
    "command": "id",
    "env": {"X": "1"},
    "env.Y": "2",
    "working_dir": "/tmp",
    "name": "x",
    "stream_output": False,
}


NO_CLIENT: Any = object()
"""Without any, Prefect would start a server for templates that refer to none."""


async def configure(template: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    made = await ProcessJobConfiguration.from_template_and_values(
        template, values, client=NO_CLIENT
    )
    return made.model_dump(include={"command", "env", "working_dir", "name", "stream_output"})


async def test_job_variables_have_no_effect() -> None:
    assert await configure(JOB, NAMED) == await configure(JOB, {})
    assert (await configure(JOB, NAMED))["command"] is None


@pytest.mark.parametrize(
    "template",
    [ProcessWorker.get_default_base_job_template(), {**JOB, "job_configuration": {"env": {}}}],
)
async def test_other_templates_let_them_in(template: dict[str, Any]) -> None:
    """Prefect's own, and one that seems as tight: so that the test above can fail."""
    assert await configure(template, NAMED) != await configure(template, {})
