"""A machine of a run: a process with a home of its own that works on what it is told, a line each:
`STEP STRIPE`. `python -m tests.e2e.node CONFIG` with ENVMILL_HOME and ENVMILL_LAKE; it answers
`done` or `failed WHY`."""

import asyncio
import os
import sys

from envmill.base.errors import EnvMillError
from envmill.pipeline.line import STEP
from flows.opening import open_walk
from flows.surroundings import read_settings
from schemas.run import RunConfig

RUN = "r1"


def _answer(line: str) -> None:
    """Past every buffer: what was said stays said when we are killed."""
    os.write(1, line.replace("\n", " ").encode() + b"\n")


async def main(config: RunConfig) -> None:
    async with open_walk(RUN, config, read_settings()) as walk:
        _answer("ready")
        while line := await asyncio.to_thread(sys.stdin.readline):
            step, stripe = line.split()
            try:
                await walk.work(STEP[step], int(stripe))
            except EnvMillError as error:
                _answer(f"failed {type(error).__name__}: {error}")
            else:
                _answer("done")


if __name__ == "__main__":
    asyncio.run(main(RunConfig.model_validate_json(sys.argv[1])))
