"""Task `filter`: one bucket of candidates against each other and against the probe policy."""

from prefect import task

from envmill.line import STEP
from tasks.policy import POLICY
from tasks.walking import WALK


@task(name="filter", tags=["jail"], **POLICY)
async def filter(step: str, bucket: int) -> int:
    """Items worked on; none when the lake lacks nothing."""
    return await WALK.get().work(STEP[step], bucket)
