"""A flow over Ray nodes that may die: `python -m tests.spread.ray_flow CONFIG`.

It says `step NAME` when a step begins, hands its buckets to Ray, and hands out again what a dead worker had, as Retry does. At the end it
says what the lake holds, and which replies were paid for twice.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (Ray is not in the lock)

import asyncio
import json
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any

from envmill.lake.lake import Lake
from flows.opening import open_walk
from flows.spread.bucket import work_bucket
from flows.surroundings import read_settings
from schemas.ledger import ModelCall
from schemas.run import RunConfig
from tests.bench.nodes_flow import RUN, read_contents, say


async def main(config: RunConfig) -> None:
    settings = read_settings()
    if not settings.lake.startswith("s3://"):
        await walk_alone(config)
    else:
        from s3fs import S3FileSystem

        S3FileSystem(use_listings_cache=False).mkdir(settings.lake.split("/")[2])
        await walk_over(config)
    lake = Lake(settings.lake)
    paid = Counter(
        f"{call.request}/{call.sample}"
        for call in lake.read(ModelCall, RUN)
        if call.answers and not call.reused
    )
    say(
        json.dumps(
            {
                "contents": read_contents(lake),
                "paid": len(paid),
                "again": [name for name, times in paid.items() if times > 1],
            }
        )
    )


async def walk_alone(config: RunConfig) -> None:
    async with open_walk(RUN, config, read_settings()) as walk:
        await walk.walk(walk.line)


async def walk_over(config: RunConfig) -> None:
    import ray

    ray.init(log_to_driver=False)
    async with open_walk(RUN, config, read_settings()) as walk:
        for step in walk.line:
            say(f"step {step.name}")
            await asyncio.to_thread(hand_out, step.name, await walk.plan(step))
            assert await walk.conclude(step) is None
            assert await walk.plan(step) == []
    say("done")
    await asyncio.to_thread(sys.stdin.readline)


def hand_out(step: str, stripes: Sequence[int]) -> None:
    import ray
    from ray.exceptions import RayError, RayTaskError

    work: Any = ray.remote(num_cpus=1, max_retries=0, scheduling_strategy="SPREAD")(work_bucket)
    asked = {work.remote(RUN, step, stripe): stripe for stripe in stripes}
    while asked:
        (ended,), _ = ray.wait([*asked], num_returns=1)
        stripe = asked.pop(ended)
        try:
            ray.get(ended)
        except RayTaskError:
            raise
        except RayError as error:
            say(f"lost {type(error).__name__}")
            asked[work.remote(RUN, step, stripe)] = stripe


if __name__ == "__main__":
    asyncio.run(main(RunConfig.model_validate_json(sys.argv[1])))
