"""Makes the background work of Prefect's server look for tasks less often.

The server keeps its background tasks in a queue in its own memory (docket, burner_redis) and looks into
it four times a second, and ten times for cancellations. A task that is added wakes the queue at once, so
these paces delay only tasks that are planned for a later time, and those are housekeeping.
"""

import asyncio
import queue
from datetime import timedelta
from functools import partial
from typing import Any

LOOK = 2.0
"""Seconds between two looks for planned tasks."""
HEARTBEAT = 30.0
"""Seconds between two heartbeats of the only process that reads the queue."""


def slow_down() -> None:
    """Before Prefect's application is made."""
    import docket
    from burner_redis.pubsub import PubSub
    from prefect.server.api import background_workers, server

    look = timedelta(seconds=LOOK)
    worker: Any = partial(docket.Worker, minimum_check_interval=look, scheduling_resolution=look)
    tasks: Any = partial(docket.Docket, heartbeat_interval=timedelta(seconds=HEARTBEAT))
    for module, name, paced in ((background_workers, "Worker", worker), (server, "Docket", tasks)):
        setattr(module, name, paced)
    PubSub._queue_get = take  # pyright: ignore[reportPrivateUsage]


async def take(self: Any, timeout: float | None) -> Any:  # noqa: ASYNC109  the original's signature
    """The next message of a subscription. Prefect publishes none; the original blocks a thread ten times a second."""
    until = None if timeout is None else asyncio.get_running_loop().time() + max(timeout, LOOK)
    while True:
        try:
            return self._queue.get_nowait()
        except queue.Empty:
            if timeout == 0.0 or (until and asyncio.get_running_loop().time() >= until):
                return None
        await asyncio.sleep(LOOK / 2)
