"""Task `mine`: one bucket of texts."""

from prefect import task

from envmill.line import MINE
from tasks.policy import POLICY
from tasks.walking import WALK


@task(name="mine", tags=["model"], **POLICY)
async def mine(step: str, bucket: int) -> int:
    """Items worked on; none when the lake lacks nothing."""
    assert step == MINE.name
    return await WALK.get().work(MINE, bucket)
