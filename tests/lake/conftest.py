"""Lakes on a disk and on an S3 service, and rows to write to them."""

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from schemas.ledger import Attrition
from schemas.seed import Brief, Seed

KEYS = {"AWS_ACCESS_KEY_ID": "x", "AWS_SECRET_ACCESS_KEY": "x", "AWS_DEFAULT_REGION": "us-east-1"}


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A fresh place for a lake; `indirect=True` with `file` or `s3`."""
    return (
        str(tmp_path / "lake")
        if request.param == "file"
        else f"{request.getfixturevalue('bucket')}/{uuid.uuid4().hex}"
    )


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 1 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if (
        os.geteuid() != 0
        or subprocess.run(
            ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", folder], check=False
        ).returncode
    ):
        pytest.skip("mounting a disk takes root")
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture(scope="session")
def s3_endpoint() -> Iterator[str]:
    with run_s3_server() as endpoint:
        yield endpoint


@pytest.fixture
def bucket(s3_endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """A bucket; the usual AWS settings point at it for this process and those it starts."""
    return make_bucket(s3_endpoint, monkeypatch)


@contextlib.contextmanager
def run_s3_server(*arguments: str) -> Iterator[str]:
    """An S3 service on loopback for the block."""
    server = subprocess.Popen(
        [sys.executable, "-m", "tests.lake.s3_server", *arguments],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdout is not None
    try:
        yield server.stdout.readline().strip()
    finally:
        server.kill()
        server.wait()
        server.stdout.close()


def make_bucket(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> str:
    from s3fs import S3FileSystem

    for name, value in (KEYS | {"AWS_ENDPOINT_URL": endpoint}).items():
        monkeypatch.setenv(name, value)
    S3FileSystem.clear_instance_cache()
    with contextlib.suppress(FileExistsError):
        S3FileSystem(use_listings_cache=False).mkdir("envmill")
    return "s3://envmill"


@pytest.fixture
def make_seed() -> Callable[[int], Seed]:
    return lambda number: Seed(
        recipe="envscaler",
        brief=Brief(theme="clinic", text="A clinic.", number=number),
        licence="CC0-1.0",
    )


@pytest.fixture
def make_exit() -> Callable[..., Attrition]:
    return exit_row


@pytest.fixture
def make_stamp() -> Callable[..., Stamp]:
    return stamp


def exit_row(subject: str, outcome: str, try_number: int, cost: float | None = 0.0) -> Attrition:
    return Attrition.model_validate(
        {
            "lap": "environments", "stage": "generate", "gate": "exit", "subject": subject, "parent": "", "try_number": try_number,
            "outcome": outcome, "reason": "", "detail": "", "evidence": "", "children": 1, "recipe": "envscaler", "theme": "clinic",
            "seconds": 1.0, "tokens": 10, "cost": cost,
        }
    )  # fmt: skip


def stamp(
    try_number: int = 1, bucket: int = 0, fingerprint: str = "f" * 20, run: str = "r1"
) -> Stamp:
    return Stamp(
        run,
        "environments-generate",
        fingerprint,
        bucket,
        try_number,
        "0",
        "2026-01-01T00:00:00+00:00",
    )
