"""Reports of small runs, written once for all tests here."""

import asyncio
import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from envmill.lake.lake import Lake
from envmill.report.folder import WrittenReport, write_report
from tests.e2e.conftest import CHROMIUM, QUIET
from tests.lake.views.example import fill
from tests.report.crowd import RUN
from tests.report.crowd import fill as crowd
from tests.report.hostile import write_hostile
from tests.soak import count


@dataclass(frozen=True)
class Told:
    """A run and its report."""

    lake: Lake
    run: str
    folder: Path


def write(lake: Lake, run: str, folder: Path, attempts: int | None = None) -> WrittenReport:
    """In a thread: where a browser is open, this one has a loop already."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(lambda: asyncio.run(write_report(lake, run, folder, attempts))).result()


@pytest.fixture(scope="session")
def nights(tmp_path_factory: pytest.TempPathFactory) -> Lake:
    lake = Lake(tmp_path_factory.mktemp("nights") / "lake")
    fill(lake)
    return lake


@pytest.fixture(scope="session")
def example(nights: Lake, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """`nightly-2`, on its way, with a candidate in error and `nightly-1` before it."""
    return _tell(nights, "nightly-2", tmp_path_factory.mktemp("example"))


@pytest.fixture(scope="session")
def finished(nights: Lake, tmp_path_factory: pytest.TempPathFactory) -> Told:
    """`nightly-1`, finished."""
    return _tell(nights, "nightly-1", tmp_path_factory.mktemp("finished"))


@pytest.fixture(scope="session")
def crowded(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A run with many trajectories, all of them with every turn."""
    folder = tmp_path_factory.mktemp("crowded")
    lake = Lake(folder / "lake")
    crowd(lake, count(100, 100_000), buckets=count(1, 40))
    return _tell(lake, RUN, folder)


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Told:
    """A run whose every text attacks whoever shows it."""
    folder = tmp_path_factory.mktemp("hostile")
    lake = Lake(folder / "lake")
    write_hostile(lake, "r1")
    return _tell(lake, "r1", folder)


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, once for a file: its loop is in the way of asynchronous tests. Where it
    must be there, nothing is skipped."""
    if not CHROMIUM.exists() and not os.environ.get("CI"):
        pytest.skip(f"{CHROMIUM} is missing: install Debian's chromium to test the pages")
    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
        yield opened
        opened.close()


def _tell(lake: Lake, run: str, folder: Path) -> Told:
    write(lake, run, folder / "report")
    return Told(lake, run, folder / "report")
