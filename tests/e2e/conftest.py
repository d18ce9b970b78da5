import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from flows.local.private import read_secret
from tests.e2e.author_server import AuthorServer, serve_author
from tests.e2e.plant import Plant

CHROMIUM = Path("/usr/bin/chromium")
QUIET = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

TWO_ROUNDS = {
    "environments": 1,
    "target": 2,
    "scenarios": 2,
    "attempts": 2,
    "seed": 5,
    "mistakes": 0.05,
    "search": 10,
}
"""Options of the run that tests share. How long gate S13 searches is no matter of the server."""
LISTED = "--no-fresh"
"""Runs of one lake that begin with the same seeds: none counts what earlier ones used."""


_FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest selects by marks
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """All tests here are long: they need a server, and most of them a whole run."""
    for item in items:
        if item.path.is_relative_to(_FOLDER):
            item.add_marker("long")


@pytest.fixture(scope="session")
def author_server() -> Iterator[AuthorServer]:
    with serve_author() as author:
        yield author


@pytest.fixture(scope="package")
def plant(tmp_path_factory: pytest.TempPathFactory, author_server: AuthorServer) -> Iterator[Plant]:
    """One server and worker for all tests here, and no longer: bringing them up takes half a
    minute, and they are never quite idle."""
    plant = Plant.at(tmp_path_factory.mktemp("plant"), author_server.url)
    try:
        plant.envmill("up")
        yield plant
    finally:
        plant.envmill("down")


@pytest.fixture(scope="package")
def finished(plant: Plant, tmp_path_factory: pytest.TempPathFactory) -> str:
    """A run of two rounds that has ended, for the tests that read one or compare another with it.
    It is ordered from another home, which is told the server and its secret."""
    elsewhere = Plant.at(
        tmp_path_factory.mktemp("elsewhere"),
        server=plant.record("server").url,
        besides={"PREFECT_API_AUTH_STRING": read_secret(plant.home.folder)},
    )
    run = elsewhere.begin("--remote", LISTED, **TWO_ROUNDS)
    plant.wait_for(run, "COMPLETED", seconds=600)
    return run


@pytest.fixture(autouse=True)
def _well_author(author_server: AuthorServer) -> Iterator[None]:
    yield
    author_server.heal()


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Debian's Chromium, one a file: while it lives its event loop runs, and asynchronous tests
    cannot. Where it must not be missing, it is
    not skipped."""
    if not CHROMIUM.exists() and not os.environ.get("CI"):
        pytest.skip(f"{CHROMIUM} is missing: install Debian's chromium to test the UI")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
        yield browser
        browser.close()


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that knows nothing of those before."""
    page = browser.new_page(viewport={"width": 1400, "height": 1000})
    yield page
    page.close()
