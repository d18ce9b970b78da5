"""A machine of a run: a process with a home of its own that works on what it is told, a line each:
`STEP STRIPE`. `python -m tests.e2e.node CONFIG SECONDS` with ENVMILL_HOME and ENVMILL_LAKE; it
answers `done` or `failed WHY`. When its author is asked, it writes the time to a file of its home;
the author takes so many seconds for a reply."""

import asyncio
import os
import sys
import time
from typing import Any

import offline as author
from envmill.base.errors import EnvMillError
from envmill.pipeline.line import STEP
from flows.opening import open_walk
from flows.surroundings import read_settings
from schemas.run import RunConfig

RUN = "r1"
ASKED = "asked"


def _answer(line: str) -> None:
    """Past every buffer: what was said stays said when we are killed."""
    os.write(1, line.replace("\n", " ").encode() + b"\n")


async def main(config: RunConfig, seconds: float) -> None:
    settings = read_settings()
    settings.home.mkdir(parents=True, exist_ok=True)
    asked = os.open(settings.home / ASKED, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def answer(*question: Any) -> str:
        os.write(asked, f"{time.monotonic()}\n".encode())
        time.sleep(seconds)
        return author.answer(*question)

    async with open_walk(RUN, config, settings, answer) as walk:
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
    asyncio.run(main(RunConfig.model_validate_json(sys.argv[1]), float(sys.argv[2])))
