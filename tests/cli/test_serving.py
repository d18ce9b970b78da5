"""A cursor in a cycle, a connection that waits for the write lock, and a thread that holds the
lock: who collects decides."""

import gc
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from flows.local.pacing import LOOK
from flows.local.serving import sweep

PATIENCE = 2.0


@pytest.fixture(autouse=True)
def nobody_else_collects() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_whoever_holds_the_lock_and_collects_starves_the_others(tmp_path: Path) -> None:
    assert wait_for_lock(tmp_path, gc.collect) == "database is locked"


def test_garbage_swept_beside_holds_nobody_up(tmp_path: Path) -> None:
    with swept() as let_sweep:
        assert wait_for_lock(tmp_path, let_sweep) == "begun"


def test_a_server_at_rest_is_swept_seldom_and_a_busy_one_each_time() -> None:
    """Of 20 paces, one at rest gets no sweep at all, since it waits for 30."""
    assert count_sweeps(least=10**9) == 0
    assert count_sweeps(least=0) > 0


@pytest.mark.long
def test_background_tasks_start_at_once_although_planned_ones_are_looked_for_seldom() -> None:
    """In a process of its own: the paces are set for the whole process."""
    done = subprocess.run(
        [sys.executable, "-c", PACED],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    added, planned, looks = (float(word) for word in done.stdout.split())
    assert added < LOOK / 4, "what is added now waits for the next look"
    assert 1.0 <= planned < 1.0 + 2 * LOOK
    assert looks <= 3, "the queue is looked into more often than its pace says"


PACED = """
import asyncio, time
from datetime import datetime, timedelta, UTC
from flows.local.pacing import slow_down
slow_down()
from prefect.server.api import background_workers, server
looks = []
import docket.worker
stream = docket.worker._stream_due_tasks
async def count(*words, **named):
    looks.append(1)
    return await stream(*words, **named)
docket.worker._stream_due_tasks = count
ended = {}
async def work(name: str) -> None:
    ended[name] = time.monotonic()
async def main():
    async with server.Docket(name="paced", url="memory://") as tasks, background_workers.Worker(tasks) as worker:
        tasks.register(work)
        running = asyncio.create_task(worker.run_forever())
        await asyncio.sleep(0.5)
        looks.clear()
        began = time.monotonic()
        await tasks.add(work, when=datetime.now(UTC) + timedelta(seconds=1))("planned")
        await tasks.add(work)("added")
        while len(ended) < 2:
            await asyncio.sleep(0.01)
        print(ended["added"] - began, ended["planned"] - began, len(looks))
        running.cancel()
asyncio.run(main())
"""


def count_sweeps(least: int) -> int:
    stop, before = threading.Event(), sum(one["collections"] for one in gc.get_stats())
    sweeping = threading.Thread(target=sweep, args=(stop, 0.02, least))
    sweeping.start()
    time.sleep(0.4)
    stop.set()
    sweeping.join()
    return sum(one["collections"] for one in gc.get_stats()) - before


def wait_for_lock(place: Path, collect: Callable[[], object]) -> str:
    """What a waiting connection is told, whose abandoned cursor is collected before the lock is let
    go."""
    told: list[str] = []
    with (
        closing(open_database(place / "server.db")) as holder,
        closing(open_database(place / "server.db")) as waiter,
    ):
        holder.execute("BEGIN IMMEDIATE")
        abandon_cursor(waiter)
        waiting = threading.Thread(target=lambda: told.append(begin(waiter)))
        waiting.start()
        time.sleep(PATIENCE / 4)
        collect()
        holder.execute("COMMIT")
        waiting.join()
    return told[0]


def open_database(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)


def abandon_cursor(connection: sqlite3.Connection) -> None:
    """In the middle of its rows, where only a collection finds it."""
    cursor = connection.execute("SELECT 1 UNION ALL SELECT 2")
    cycle: list[object] = [cursor]
    cycle.append(cycle)


def begin(connection: sqlite3.Connection) -> str:
    try:
        connection.execute("BEGIN IMMEDIATE")
    except sqlite3.OperationalError as error:
        return str(error)
    return "begun"


@contextmanager
def swept() -> Iterator[Callable[[], None]]:
    """Yields what lets the sweeper meet the cursor."""
    stop = threading.Event()
    sweeping = threading.Thread(target=sweep, args=(stop, 0.01, 0))

    def let_sweep() -> None:
        sweeping.start()
        time.sleep(PATIENCE / 4)

    try:
        yield let_sweep
    finally:
        stop.set()
        sweeping.join()
