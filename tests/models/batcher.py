"""Lives of a run that asks through batches: each a process of its own, killed at a moment of its
work or after some seconds.

`python -m tests.models.batcher` reads one life a line of JSON (`environ`, `config`, `moment` or `seconds`) and answers with how it
ended: 0 finished, 3 waits for a batch, -9 killed. It forks its lives, since each would spend a
second and more on what all have in common; one that is to be lived `here` comes first, and leaves
that behind.
"""

import asyncio
import inspect
import json
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from envmill.base.errors import Pending
from envmill.base.settings import Settings
from envmill.lake.journal import Journal
from envmill.lake.lake import Lake
from envmill.models.batches.anthropic import Anthropic
from envmill.models.batches.openai import OpenAI
from envmill.models.batches.slips import Slips
from envmill.pipeline.line import STEPS
from flows.opening import open_walk
from schemas.run import RunConfig

WAITS = 3

MOMENTS: dict[str, tuple[tuple[type, ...], str]] = {
    "writing the slip": ((Slips,), "hand"),
    "submitting": ((OpenAI, Anthropic), "submit"),
    "writing the id": ((Slips,), "mark_sent"),
    "polling": ((OpenAI, Anthropic), "poll"),
    "collecting": ((OpenAI, Anthropic), "fetch"),
    "closing the slip": ((Slips,), "close"),
    "journalling": ((Journal,), "append"),
    "saving": ((Lake,), "commit"),
}
"""What a life does once or more; it may be killed before and after each."""


def arm(moment: str) -> None:
    """Die by SIGKILL before or after some work."""
    when, _, what = moment.partition(" ")
    owners, name = MOMENTS[what]
    for owner in owners:
        setattr(owner, name, _make_deadly(getattr(owner, name), when))


def _make_deadly(work: Callable[..., Any], when: str) -> Callable[..., Any]:
    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def work_later(*given: Any, **named: Any) -> Any:
        if when == "before":
            die()
        await work(*given, **named)
        die()

    def work_now(*given: Any, **named: Any) -> Any:
        if when == "before":
            die()
        work(*given, **named)
        die()

    return work_later if inspect.iscoroutinefunction(work) else work_now


async def live(settings: Settings, config: RunConfig) -> int:
    """One life: as far as the first step comes."""
    try:
        async with open_walk("r1", config, settings) as walk:
            await walk.walk(STEPS[:1])
    except Pending:
        return WAITS
    return 0


def _begin(order: dict[str, Any]) -> int:
    if order.get("moment"):
        arm(order["moment"])
    return asyncio.run(
        live(Settings.read(order["environ"]), RunConfig.model_validate(order["config"]))
    )


def _fork(order: dict[str, Any]) -> int:
    child = os.fork()
    if not child:
        try:
            os._exit(_begin(order))
        finally:
            os._exit(1)
    if order.get("seconds") is not None:
        time.sleep(order["seconds"])
        os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    for line in sys.stdin:
        one = json.loads(line)
        sys.stdout.write(f"{_begin(one) if one.get('here') else _fork(one)}\n")
        sys.stdout.flush()
