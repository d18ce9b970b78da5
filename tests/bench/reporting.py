"""The report of a hundred thousand trajectories: how soon its first page stands in a browser, and
what writing it takes.

Made once a measurement, in a folder of its own: some minutes of work before the first number.
"""

import asyncio
import resource
import statistics
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, sync_playwright

from envmill.lake.lake import Lake
from envmill.report.folder import write_report
from tests.e2e.conftest import CHROMIUM, QUIET
from tests.report.crowd import RUN, fill

TRAJECTORIES = 100_000
ROUNDS = 5
BLANK = "<!doctype html><title>blank</title><p>blank</p>"
_PAINT = (
    "() => performance.getEntriesByName('first-contentful-paint').map(one => one.startTime)[0] / "
    "1000"
)


def measure_report() -> Iterator[dict[str, Any]]:
    """Writing with every turn of every attempt; first paint beside that of an empty page; what a
    list of all takes to open."""
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        fill(Lake(folder / "lake"), TRAJECTORIES)
        start = time.process_time()
        asyncio.run(write_report(Lake(folder / "lake"), RUN, folder / "report", None))
        spent, held = (
            time.process_time() - start,
            resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        )
        what = f"report of {TRAJECTORIES:,} trajectories"
        yield {
            "id": "report_write",
            "what": f"{what}: CPU a thousand",
            "measured": spent * 1000 / TRAJECTORIES,
            "unit": "s",
        }
        yield {
            "id": "report_memory",
            "what": f"{what}: most memory, making them included",
            "measured": held,
            "unit": "GB",
        }
        if CHROMIUM.exists():
            (folder / "blank.html").write_text(BLANK, encoding="utf-8")
            yield from _measure_pages(folder, what)


def _measure_pages(folder: Path, what: str) -> Iterator[dict[str, Any]]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=QUIET)
        paint = _median_paint(browser, folder / "report/index.html")
        blank = _median_paint(browser, folder / "blank.html")
        yield {
            "id": "report_paint",
            "what": f"{what}: first paint, beside a blank page",
            "measured": paint,
            "baseline": blank,
            "unit": "s",
        }
        yield {
            "id": "report_list",
            "what": f"{what}: list of all attempts",
            "measured": _open_list(browser, folder),
            "unit": "s",
        }
        browser.close()


def _median_paint(browser: Browser, file: Path) -> float:
    """The first round warms the file cache and is not counted."""
    seconds: list[float] = []
    for _ in range(ROUNDS + 1):
        page = browser.new_context(offline=True).new_page()
        page.goto(file.as_uri())
        while not (painted := page.evaluate(_PAINT)):
            page.wait_for_timeout(50)  # the page's own policy forbids a condition in words
        seconds.append(painted)
        page.context.close()
    return statistics.median(seconds[1:])


def _open_list(browser: Browser, folder: Path) -> float:
    page = browser.new_context(offline=True).new_page()
    page.goto((folder / "report/index.html").as_uri())
    page.wait_for_selector("main[data-drawn]")
    start = time.perf_counter()
    page.evaluate("location.hash = '#/attempts'")
    page.wait_for_selector("main table.list")
    return time.perf_counter() - start
