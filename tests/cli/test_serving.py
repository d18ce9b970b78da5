"""A cursor in a cycle, a connection that waits for the write lock, and a thread that holds the
lock: who collects decides."""

import gc
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

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
