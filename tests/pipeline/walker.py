"""A process that walks the line among faults: outages of the author, drivers and keepers that die.
It goes on until it is finished.

`python -m tests.pipeline.walker FOLDER CONFIG SEED`
"""

import asyncio
import os
import random
import signal
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import offline as author
from envmill.base.errors import EnvMillError, Outage
from envmill.base.settings import Settings
from envmill.models import caller
from flows.opening import open_walk
from schemas.base import Json, canonical_json
from schemas.run import RunConfig
from tests.pipeline.test_runner import settings_in

RUN = "r1"
_RETRIES = 12
_OUTAGES = 0.05
_DEATHS = 3
"""Fewer than retries: on a busy machine a subject may take longer than the time between two
deaths."""
_CALM = 6.0
"""Seconds between two deaths of a process below."""
_BELOW = (b"envmill.runtime.jail.driver", b"envmill.pipeline.gate_worker")


class Shaky:
    """The offline author, out of reach for one question in twenty when it is first asked."""

    def __init__(self, dice: random.Random) -> None:
        self._dice = dice
        self._asked: set[str] = set()

    def __call__(
        self,
        prompt: str,
        inputs: Json,
        seed: int,
        sample: int,
        mistakes: float,
        talk: Sequence[str] = (),
    ) -> str:
        name = f"{prompt} {sample} {canonical_json([inputs, list(talk)])}"
        if name not in self._asked and self._dice.random() < _OUTAGES:
            self._asked.add(name)
            raise Outage("out of reach this once")
        return author.answer(prompt, inputs, seed, sample, mistakes, talk)


def kill_below(dice: random.Random) -> None:
    """Now and then one process that this one started, as a machine short of memory does."""
    own = os.getpid()
    for _ in range(_DEATHS):
        time.sleep(_CALM * dice.uniform(0.5, 1.5))
        children = [
            int(word) for word in Path(f"/proc/{own}/task/{own}/children").read_text().split()
        ]
        found = [
            one
            for one in children
            if any(name in Path(f"/proc/{one}/cmdline").read_bytes() for name in _BELOW)
        ]
        if found:
            os.kill(dice.choice(found), signal.SIGKILL)


async def walk(settings: Settings, config: RunConfig, dice: random.Random | None = None) -> None:
    """Until it is finished; what is worth retrying is walked again, as Prefect does it."""
    for left in reversed(range(_RETRIES)):
        try:
            async with open_walk(
                RUN, config, settings, Shaky(dice) if dice else author.answer
            ) as opened:
                await opened.walk()
        except EnvMillError as error:
            if not (error.retryable and left and dice):
                raise
        else:
            return


def main() -> None:
    folder, config, dice = (
        Path(sys.argv[1]),
        RunConfig.model_validate_json(sys.argv[2]),
        random.Random(sys.argv[3]),
    )
    caller.PAUSES = (0.01, 0.01)
    threading.Thread(target=kill_below, args=(random.Random(dice.random()),), daemon=True).start()
    asyncio.run(walk(settings_in(folder), config, dice))


if __name__ == "__main__":
    main()
