"""The flow process of a measured run: `python -m tests.bench.nodes_flow CONFIG BUCKETS NODES`.

It makes what is to be verified on its own walk, gives each node a first bucket, says `warm`, waits for a line, hands the other buckets to
Ray, says `done SECONDS`, waits for a line, and says what the lake holds. Without nodes it verifies on its own walk, and says that alone.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray is not in the lock)

import asyncio
import json
import sys
import time
from typing import Any

from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP
from envmill.pipeline.runner import Runner
from flows.opening import open_walk
from flows.spread.bucket import GRACE, name_release, work_bucket
from flows.surroundings import read_settings
from schemas.base import Record, digest
from schemas.ledger import Attrition, ModelCall, RunEvent
from schemas.run import RunConfig
from schemas.tables import TABLES

RUN, MEASURED = "r1", "environments-verify"
_SEALING = 60.0
_STARTING = 600.0
"""Seconds until every node has done its first bucket."""


async def main(config: RunConfig, buckets: int, nodes: int) -> None:
    settings = read_settings()
    if settings.lake.startswith("s3://"):
        from s3fs import S3FileSystem

        S3FileSystem(use_listings_cache=False).mkdir(settings.lake.split("/")[2])
    async with open_walk(RUN, config, settings) as walk:
        step = STEP[MEASURED]
        await walk.walk(walk.line[: walk.line.index(step)])
        walk.lake.fix(RUN, MEASURED, {"buckets": buckets})
        if nodes:
            await _spread(walk, await walk.plan(step), nodes)
        else:
            await walk.walk([step])
        assert await walk.plan(step) == []
    say(json.dumps(read_contents(Lake(settings.lake))))


async def _spread(walk: Runner, stripes: list[int], nodes: int) -> None:
    import ray

    ray.init(log_to_driver=False)
    # A bucket whose worker died fails here, as it does in a run.
    work: Any = ray.remote(num_cpus=1, max_retries=0)(work_bucket)
    first, rest = stripes[:nodes], stripes[nodes:]
    asked = [
        work.options(resources={f"node{number}": 0.01}).remote(RUN, MEASURED, stripe)
        for number, stripe in enumerate(first)
    ]
    tickets = set(ray.get(asked, timeout=_STARTING))
    say("warm")
    await asyncio.to_thread(sys.stdin.readline)
    began = time.monotonic()
    tickets |= set(ray.get([work.remote(RUN, MEASURED, stripe) for stripe in rest]))
    say(f"done {time.monotonic() - began}")
    await asyncio.to_thread(sys.stdin.readline)
    until = time.monotonic() + GRACE + _SEALING
    for ticket in tickets:
        while walk.lake.find_fixed(RUN, name_release(ticket)) is None:
            assert time.monotonic() < until, "a worker did not seal its calls"
            await asyncio.sleep(0.2)


def read_contents(lake: Lake) -> dict[str, str]:
    """Table → digest of what must be equal in equal runs. Each process that opens a run writes an event of its own."""
    return {
        table: digest([_strip(row) for row in lake.read(record, RUN)], 16)
        for table, record in TABLES.items()
        if record is not RunEvent
    }


def _strip(row: Record) -> Any:
    """Ids of calls come from coordinates and times."""
    if isinstance(row, ModelCall):
        return None
    return row.model_dump(exclude={"seconds"} if isinstance(row, Attrition) else None)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    asyncio.run(
        main(RunConfig.model_validate_json(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    )
