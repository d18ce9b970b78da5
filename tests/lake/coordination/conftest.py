"""Every place where coordinators keep their documents, as a function that opens the coordinator of one more process."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from envmill.lake.coordination import Coordinator, FolderCoordinator, RemoteCoordinator
from envmill.lake.coordination.objects import ObjectDocuments
from envmill.lake.coordination.postgres import PostgresDocuments
from envmill.lake.coordination.remote import Documents
from envmill.lake.stores import LocalStore, S3Store
from tests.postgres import Postgres, run_postgres

EXPIRY = 2.0
"""Seconds: what a lease of a silent process lasts in these tests."""

Open = Callable[..., Coordinator]
Clock = Callable[[], float]
PLACES = ("folder", "objects", "s3", "postgres")


class StandingClock:
    """It moves when it is told to: how busy the machine is does not matter."""

    def __init__(self) -> None:
        self.now = float(round(time.monotonic()))  # quarters are added without rounding

    def __call__(self) -> float:
        return self.now


def silence(coordinator: Coordinator) -> None:
    """What a partition does to it, or a stop of its process: it gives no sign of life, and knows nothing of it."""
    if isinstance(coordinator, FolderCoordinator):
        coordinator._registry.close()
        return
    assert isinstance(coordinator, RemoteCoordinator)
    coordinator._over.set()
    coordinator._heart.join()
    coordinator._over = threading.Event()


def space_looks(coordinator: Coordinator, clock: StandingClock) -> None:
    """From now on, a quarter of an expiry passes on the clock before each look at another process."""
    if isinstance(coordinator, FolderCoordinator):
        return
    assert isinstance(coordinator, RemoteCoordinator)
    coordinator._clock, look = clock, coordinator.is_dead

    def is_dead(process: str) -> bool:
        clock.now += coordinator._expiry / 4
        return look(process)

    coordinator.is_dead = is_dead


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    with run_postgres() as cluster:
        yield cluster


@pytest.fixture(params=PLACES)
def open_one(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Open]:
    """`open_one(home)`: processes of different homes are of different machines, where the place allows it."""
    if request.param == "postgres":
        cluster: Postgres = request.getfixturevalue("postgres")
        cluster.ask("drop table if exists envmill_coordination")
    with ExitStack() as opened:

        def make(home: str = "home", clock: Clock = time.monotonic) -> Coordinator:
            coordinator = _make(request, tmp_path, home, clock)
            opened.callback(coordinator.close)
            return coordinator

        yield make


def _make(request: pytest.FixtureRequest, folder: Path, home: str, clock: Clock) -> Coordinator:
    if request.param == "folder":
        return FolderCoordinator(folder / "home")
    documents = _make_documents(request, folder)
    return RemoteCoordinator(documents, folder / home, EXPIRY, patience=30.0, clock=clock)


def _make_documents(request: pytest.FixtureRequest, folder: Path) -> Documents:
    if request.param == "postgres":
        cluster: Postgres = request.getfixturevalue("postgres")
        return PostgresDocuments(cluster.url)
    if request.param == "s3":
        return ObjectDocuments(S3Store(f"{request.getfixturevalue('bucket')}/{folder.name}"))
    return ObjectDocuments(LocalStore(str(folder / "lake")))
