"""Task `generate`: one bucket of seeds or places."""

from prefect import task

from envmill.line import STEP
from tasks.policy import POLICY
from tasks.walking import WALK


@task(name="generate", tags=["model", "jail"], **POLICY)
async def generate(step: str, bucket: int) -> int:
    """Items worked on; none when the lake lacks nothing."""
    return await WALK.get().work(STEP[step], bucket)
