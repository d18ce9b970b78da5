"""Task `export`: the bundles of a run."""

from prefect import task

from envmill.line import STEP
from tasks.policy import POLICY
from tasks.walking import WALK


@task(name="export", tags=[], **POLICY)
async def export(step: str, bucket: int) -> int:
    """Items worked on; none when the lake lacks nothing."""
    return await WALK.get().work(STEP[step], bucket)
