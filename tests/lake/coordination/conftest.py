"""Every place where coordinators keep their documents, as a function that opens the coordinator of one more process."""

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
PLACES = ("folder", "objects", "s3", "postgres")


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

        def make(home: str = "home", expiry: float = EXPIRY) -> Coordinator:
            coordinator = _make(request, tmp_path, home, expiry)
            opened.callback(coordinator.close)
            return coordinator

        yield make


def _make(request: pytest.FixtureRequest, folder: Path, home: str, expiry: float) -> Coordinator:
    if request.param == "folder":
        return FolderCoordinator(folder / "home")
    return RemoteCoordinator(_make_documents(request, folder), folder / home, expiry, patience=30.0)


def _make_documents(request: pytest.FixtureRequest, folder: Path) -> Documents:
    if request.param == "postgres":
        cluster: Postgres = request.getfixturevalue("postgres")
        return PostgresDocuments(cluster.url)
    if request.param == "s3":
        return ObjectDocuments(S3Store(f"{request.getfixturevalue('bucket')}/{folder.name}"))
    return ObjectDocuments(LocalStore(str(folder / "lake")))
