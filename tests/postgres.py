"""A PostgreSQL cluster of a test's own, on a port of its own, by Debian's package."""

import contextlib
import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

_USER = "postgres"


class Postgres:
    """One cluster; it can go away and come back."""

    def __init__(self, programs: Path, folder: Path, port: int) -> None:
        self._programs, self._folder, self._port = programs, folder, port
        self._own = [
            "setpriv",
            f"--reuid={_USER}",
            f"--regid={_USER}",
            "--clear-groups",
            "--pdeathsig=TERM",
        ]
        self._server: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://mill:unused@127.0.0.1:{port}/prefect"

    def make(self) -> None:
        """Its files, and the database."""
        command = [
            *self._own,
            str(self._programs / "initdb"),
            "-D",
            f"{self._folder}/data",
            "-A",
            "trust",
            "-U",
            "mill",
            "--no-sync",
        ]
        subprocess.run(command, check=True, capture_output=True)
        self.start()
        self.ask("create database prefect", "postgres")

    def start(self) -> None:
        """Return once it answers."""
        words = ["-D", f"{self._folder}/data", "-p", str(self._port), "-k", str(self._folder), "-F"]
        self._server = subprocess.Popen(
            [*self._own, str(self._programs / "postgres"), *words], stderr=subprocess.DEVNULL
        )
        until = time.monotonic() + 120
        while not self._try("select 1", "postgres"):
            assert time.monotonic() < until, "PostgreSQL did not start"
            time.sleep(0.1)

    def stop(self) -> None:
        """At once, connections and all."""
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)
            self._server.wait(60)
            self._server = None

    def ask(self, statement: str, database: str = "prefect") -> None:
        """Run a statement."""
        assert self._try(statement, database), statement

    def _try(self, statement: str, database: str) -> bool:
        where = ["-h", str(self._folder), "-p", str(self._port), "-U", "mill", "-d", database]
        return (
            subprocess.run(
                [str(self._programs / "psql"), *where, "-c", statement],
                check=False,
                capture_output=True,
            ).returncode
            == 0
        )


@contextlib.contextmanager
def run_postgres() -> Iterator[Postgres]:
    """A cluster that ends with the block."""
    programs, folder = (
        _find_programs(),
        Path(tempfile.mkdtemp(prefix="envmill-pg-", dir="/tmp")),
    )  # sockets have short names
    os.chown(folder, *pwd.getpwnam(_USER)[2:4])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    cluster = Postgres(programs, folder, port)
    try:
        cluster.make()
        yield cluster
    finally:
        cluster.stop()
        shutil.rmtree(folder)


def _find_programs() -> Path:
    """Where Debian puts them, the newest version."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    if not found and os.environ.get("CI"):
        pytest.fail("PostgreSQL is missing (Debian's package postgresql)")
    if not found or os.geteuid() != 0:
        pytest.skip("this needs Debian's package postgresql, and root to start it as another user")
    return found[-1].parent
