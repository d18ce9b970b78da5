"""Task `verify`: one bucket through the gates."""

from prefect import task

from envmill.line import STEP
from tasks.policy import POLICY
from tasks.walking import WALK


@task(name="verify", tags=["jail"], **POLICY)
async def verify(step: str, bucket: int) -> int:
    """Items worked on; none when the lake lacks nothing."""
    return await WALK.get().work(STEP[step], bucket)
