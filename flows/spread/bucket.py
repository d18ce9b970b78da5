"""The worker's side of a spread run: one bucket, worked on by a walk that this process opened for itself.

flow ─ run id, step, bucket ─► worker ─► walk of the run ─► lake
                                  └─ settings, keys and home of the worker's own surroundings

Nothing but names comes from the flow. All threads of a worker share a walk, with its jails, its door and its
journal; once no bucket has needed it for a few seconds it is closed, and its calls are sealed.
"""

import asyncio
import threading
import uuid
from contextlib import AsyncExitStack
from dataclasses import dataclass, field

from prefect import task
from prefect.tasks import Task

from envmill.pipeline.line import STEP
from envmill.pipeline.runner import Runner
from flows.opening import open_walk
from flows.surroundings import read_settings
from schemas.ledger import Stage
from schemas.run import RunConfig
from tasks.policy import POLICY
from tasks.stages import TASKS

GRACE = 5.0
"""Seconds a walk stays open after its last bucket: the next step's buckets come when all of this one's are done."""


@dataclass
class HeldWalk:
    """A run's walk in this process, and how many buckets use it."""

    walk: Runner
    closing: AsyncExitStack
    ticket: str = field(default_factory=lambda: uuid.uuid4().hex)
    users: int = 0
    uses: int = 0


@dataclass
class WalkKeeper:
    """The walks of one process, on an event loop and a thread of their own."""

    grace: float = GRACE
    _walks: dict[str, HeldWalk] = field(default_factory=dict)
    _turns: dict[str, asyncio.Lock] = field(default_factory=dict)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread | None = None
    _starting: threading.Lock = field(default_factory=threading.Lock)
    _closings: set[asyncio.Task[None]] = field(default_factory=set)

    def work(self, run: str, step: str, bucket: int) -> str:
        """Called by any thread. Returns when the bucket is saved, with the ticket of the walk that did it."""
        with self._starting:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="walks", daemon=True
                )
                self._thread.start()
        return asyncio.run_coroutine_threadsafe(self._work(run, step, bucket), self._loop).result()

    async def _work(self, run: str, step: str, bucket: int) -> str:
        held = await self._take(run)
        try:
            await held.walk.work(STEP[step], bucket)
            return held.ticket
        finally:
            held.users -= 1
            held.uses += 1
            if not held.users:
                self._loop.call_later(self.grace, self._close_later, run, held, held.uses)

    async def _take(self, run: str) -> HeldWalk:
        async with self._turns.setdefault(run, asyncio.Lock()):
            held = self._walks.get(run)
            if held is None:
                closing = AsyncExitStack()
                walk = await closing.enter_async_context(
                    open_walk(run, RunConfig(run=run), read_settings())
                )
                held = self._walks[run] = HeldWalk(walk, closing)
            held.users += 1
            return held

    def _close_later(self, run: str, held: HeldWalk, uses: int) -> None:
        if not held.users and held.uses == uses:
            self._closings.add(closing := self._loop.create_task(self._close(run, held)))
            closing.add_done_callback(self._closings.discard)

    async def _close(self, run: str, held: HeldWalk) -> None:
        async with self._turns[run]:
            if held.users or self._walks.get(run) is not held:
                return
            del self._walks[run]
            await held.closing.aclose()
            # Its calls are sealed now, and the flow waits for this line.
            held.walk.lake.fix(run, name_release(held.ticket), {"sealed": True})


KEEPER = WalkKeeper()
"""This process's."""


def name_release(ticket: str) -> str:
    """What a run of the lake knows of a walk that was closed."""
    return f"sealed-{ticket}"


def work_bucket(run: str, step: str, bucket: int) -> str:
    """Do one bucket in this process; the ticket of the walk that did it."""
    return KEEPER.work(run, step, bucket)


SpreadTask = Task[[str, str, int], str]


def _make_task(stage: Stage) -> SpreadTask:
    """Its function is found by name in a worker, so that no code travels either."""
    return task(name=stage, tags=TASKS[stage].tags, **POLICY)(work_bucket)


SPREAD_TASKS: dict[Stage, SpreadTask] = {stage: _make_task(stage) for stage in TASKS}
"""Stage → the task that does one bucket of it in a cluster."""
