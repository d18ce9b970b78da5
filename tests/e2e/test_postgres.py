"""The server's records in a real PostgreSQL, by one setting."""

import os
import pwd
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.plant import Plant
from tests.soak import count

USER = "postgres"


def find_programs() -> Path:
    """Where Debian puts them, the newest version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found and os.environ.get("CI"):
        pytest.fail("PostgreSQL is missing (Debian's package postgresql)")
    if not found or os.geteuid() != 0:
        pytest.skip("this needs Debian's package postgresql, and root to start it as another user")
    return found[-1].parent


@pytest.fixture
def database(tmp_path: Path) -> Iterator[str]:
    """A cluster of the test's own, as its own user, on its own port; it ends with the test."""
    if not count(0, 1):
        pytest.skip("a server of its own takes a minute of a core: `make soak AREA=operations`")
    programs, folder = find_programs(), Path(f"/tmp/envmill-pg-{os.getpid()}")
    folder.mkdir()
    os.chown(folder, *pwd.getpwnam(USER)[2:4])
    own = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups", "--pdeathsig=TERM"]
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    subprocess.run(
        [*own, str(programs / "initdb"), "-D", f"{folder}/data", "-A", "trust", "-U", "mill"],
        check=True,
        capture_output=True,
    )
    server = subprocess.Popen(
        [
            *own,
            str(programs / "postgres"),
            "-D",
            f"{folder}/data",
            "-p",
            str(port),
            "-k",
            str(folder),
        ]
    )
    try:
        ask = [
            str(programs / "psql"),
            "-h",
            str(folder),
            "-p",
            str(port),
            "-U",
            "mill",
            "-d",
            "postgres",
            "-c",
            "create database prefect",
        ]
        until = time.monotonic() + 120
        while subprocess.run(ask, check=False, capture_output=True).returncode:
            assert time.monotonic() < until, "PostgreSQL did not start"
            time.sleep(0.2)
        yield f"postgresql://mill:unused@127.0.0.1:{port}/prefect"
    finally:
        server.terminate()
        server.wait(60)
        shutil.rmtree(folder)


@pytest.mark.soak(area="operations")
def test_a_run_on_a_server_whose_records_are_in_postgresql(database: str, tmp_path: Path) -> None:
    plant = Plant.at(tmp_path / "plant", database=database)
    try:
        plant.envmill("up")
        run = plant.begin(environments=1, scenarios=1, attempts=1, mistakes=0)
        plant.wait_for(run, "COMPLETED", seconds=600)
        assert "short" not in plant.call("up", "--check")
        assert not list(plant.home.prefect.glob("*.db")), "nothing of the server is in a file"
        assert plant.ask("select count(*) from bundles where run = ?", run)[0][0] > 0
    finally:
        plant.envmill("down")
