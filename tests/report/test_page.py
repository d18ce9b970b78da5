"""The report in a browser, from the disk and with the network off."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Browser, Page, expect

from envmill.lake.sql import fetch
from tests.report.conftest import Told
from tests.report.hostile import ATTACK
from tests.report.opened import rows

SECTIONS = (
    "night",
    "flow",
    "failures",
    "yield",
    "gates",
    "repairs",
    "cost",
    "pass",
    "coverage",
    "quality",
    "bundles",
)
SCREENS: tuple[tuple[int, Literal["light", "dark"]], ...] = (
    (390, "light"),
    (800, "dark"),
    (1400, "dark"),
)
GROUND = "getComputedStyle(document.body).backgroundColor"
PATIENCE = 60_000  # milliseconds; the machine may be busy


@dataclass
class Reader:
    """A page and everything it complained about."""

    page: Page
    complaints: list[str] = field(default_factory=list[str])
    asked: list[str] = field(default_factory=list[str])

    def open(self, folder: Path, place: str = "#/") -> Page:
        self.page.goto((folder / "index.html").as_uri() + place)
        return self.settle()

    def go(self, place: str) -> Page:
        self.page.evaluate(
            "place => { document.getElementById('main').removeAttribute('data-drawn'); "
            "location.hash = place; }",
            place,
        )
        return self.settle()

    def settle(self) -> Page:
        """Rows and charts are there."""
        self.page.wait_for_selector("main[data-drawn]", timeout=PATIENCE)
        return self.page


@pytest.fixture
def reader(browser: Browser) -> Iterator[Reader]:
    """Whatever it shows, it complains of nothing and asks nobody outside."""
    context = browser.new_context(
        offline=True, viewport={"width": 1400, "height": 1000}, color_scheme="light"
    )
    reader = Reader(context.new_page())
    reader.page.set_default_timeout(PATIENCE)
    reader.page.on(
        "console",
        lambda said: (
            reader.complaints.append(said.text) if said.type in ("error", "warning") else None
        ),
    )
    reader.page.on("pageerror", lambda error: reader.complaints.append(str(error)))
    reader.page.on(
        "requestfailed", lambda request: reader.complaints.append(f"failed: {request.url}")
    )
    reader.page.on("request", lambda request: reader.asked.append(request.url))
    yield reader
    context.close()
    assert reader.complaints == []
    assert [one for one in reader.asked if not one.startswith(("file:", "data:", "blob:"))] == []


def number(text: str) -> int:
    return int(text.replace(",", ""))


@pytest.mark.long
def test_every_section_is_there_on_wide_and_narrow_screens_in_light_and_dark(
    reader: Reader, finished: Told
) -> None:
    page = reader.open(finished.folder)
    assert [one for one in SECTIONS if page.locator(f"#{one}").count() != 1] == []
    assert page.locator(".chart .main-svg").count() >= 5
    assert "Offline author" in page.inner_text("#offline")
    grounds: list[str] = []
    for width, scheme in SCREENS:
        page.set_viewport_size({"width": width, "height": 844})
        page.emulate_media(color_scheme=scheme)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        grounds.append(page.evaluate(GROUND))
    page.keyboard.press("d")
    assert grounds[0] != grounds[1] == grounds[2] != page.evaluate(GROUND)


@pytest.mark.long
@pytest.mark.soak(area="operations")
def test_numbers_are_those_of_the_views_and_lead_to_as_many_rows(
    reader: Reader, crowded: Told
) -> None:
    page = reader.open(crowded.folder)
    shown = [
        [number(cell) for cell in row[2:4] + row[5:7]]
        for row in page.eval_on_selector_all(
            "#flow tbody tr",
            "all => all.map(row => [...row.cells].map(cell => cell.innerText.trim()))",
        )
    ]
    told = fetch(
        crowded.lake,
        "select entered, kept, dropped, error from funnel where run = ?",
        [crowded.run],
    )
    assert shown == [list(row) for row in told]
    links = page.eval_on_selector_all(
        "#main td.number a, .big a",
        "all => all.map(one => [one.innerText, one.getAttribute('href')])",
    )
    lists = sorted(
        {
            (text, href)
            for text, href in links
            if href.split("?")[0] in ("#/candidates", "#/attempts", "#/scenarios", "#/findings")
        }
    )
    assert len(lists) > 10
    for text, href in lists:
        reader.go(href)
        assert number(
            page.inner_text(".found").removeprefix("All ").split()[0].rstrip(";")
        ) == number(text), href


@pytest.mark.soak(area="operations")
def test_any_attempt_of_many_is_found_and_opens(reader: Reader, crowded: Told) -> None:
    page = reader.open(crowded.folder, "#/attempts?sort=attempt&down=1")
    held = int(fetch(crowded.lake, "select count(*) from trajectories")[0][0])
    assert number(page.inner_text(".found").removeprefix("All ")) == held
    page.locator("#search").fill(page.locator("main tbody a").nth(2).inner_text())
    page.keyboard.press("Enter")
    expect(page.locator("main tbody tr")).to_have_count(1, timeout=PATIENCE)
    page.click("main tbody a")
    page.wait_for_selector("#turns")
    assert page.locator(".turn.assistant").count() == 5
    assert page.locator(".trained").count() == 6  # one of them says what the mark means


@pytest.mark.long
def test_error_looks_unlike_dropped_and_the_night_before_is_compared(
    reader: Reader, example: Told
) -> None:
    page = reader.open(example.folder)
    assert "in error" in page.inner_text("#died-tile")
    assert "against nightly-1" in page.inner_text("#changed-tile")
    assert "unknown" in page.inner_text("#cost-tile")  # a price nobody knows makes no sum
    page = reader.go("#/candidates")
    looks = page.evaluate(
        "() => Object.fromEntries([...document.querySelectorAll('.outcome')].map(one => "
        "[one.className, getComputedStyle(one.querySelector('i')).backgroundColor]))"
    )
    assert len(set(looks.values())) == len(looks) > 1


def test_a_dropped_candidate_opens_with_its_evidence(reader: Reader, finished: Told) -> None:
    page = reader.open(finished.folder, "#/candidates?outcome=dropped")
    page.click("main tbody a")
    page.wait_for_selector("#dossier")
    assert "dropped" in page.inner_text("#dossier")


def test_keys_and_search_lead_everywhere(reader: Reader, finished: Told) -> None:
    page = reader.open(finished.folder)
    page.keyboard.press("e")
    page.wait_for_selector("h1:text-is('Environments')")
    page.keyboard.press("/")
    page.keyboard.type("Clinic")
    page.keyboard.press("Enter")
    expect(page.locator("main tbody tr")).to_have_count(1, timeout=PATIENCE)
    page.locator("main tbody a").first.focus()
    page.keyboard.press("Enter")
    page.wait_for_selector("#code")
    assert page.inner_text("h1") == "Clinic"
    tools = page.locator("#tools tbody tr").count()
    assert page.locator("#graph svg.graph circle").count() == tools > 1
    assert (
        page.locator("#graph svg.graph text").all_text_contents()
        == page.locator("#tools tbody td:first-child").all_text_contents()
    )
    page.keyboard.press("n")
    page.wait_for_selector("#night")
    page.locator("#all").fill("Clinic")
    page.keyboard.press("Enter")
    page.wait_for_selector("h1:text-is('Search')")


@pytest.mark.long
def test_texts_that_attack_stay_texts(reader: Reader, hostile: Told) -> None:
    page = reader.open(hostile.folder)
    ids = {row["subject"] for row in rows(hostile.folder, "candidates")} | {
        row["id"] for row in rows(hostile.folder, "attempts")
    }
    things = [
        f"#/thing/{one}"
        for one in sorted(ids | {row["id"] for row in rows(hostile.folder, "environments")})
    ]
    lists = [
        "#/environments",
        "#/scenarios",
        "#/attempts",
        "#/candidates",
        "#/findings",
        "#/search?q=%3C%2Fscript%3E",
        "#/%3Cimg src=x onerror=taken=1%3E",
    ]
    seen = page.inner_text("main")
    for place in [*things, *lists]:
        page = reader.go(place)
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        seen += page.inner_text("main")
        assert page.evaluate("window.taken") is None, place
        assert (
            page.locator(
                "main img, main svg:not(.main-svg):not(.graph), main script, main "
                "a[href^=javascript]"
            ).count()
            == 0
        ), place
    assert "<script>window.taken=1</script>" in seen
    assert {"U+202E", "U+2028", "U+2029", "U+2066", "U+FEFF", "U+0000", "U+001B"} <= {
        one for one in seen.split() if one.startswith("U+")
    } | {f"U+{part[:4]}" for part in seen.split("U+")}
    assert not set("\u202e\u2028\u2066") & set(seen)
    assert ATTACK not in seen
