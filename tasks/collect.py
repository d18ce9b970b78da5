"""Task `collect`: one bucket of scenarios to trajectories."""

from prefect import task

from envmill.line import STEP
from tasks.policy import POLICY
from tasks.walking import WALK


@task(name="collect", tags=["jail"], **POLICY)
async def collect(step: str, bucket: int) -> int:
    """Items worked on; none when the lake lacks nothing."""
    return await WALK.get().work(STEP[step], bucket)
