"""The page about releases of others: counts and one example each, suspicions apart, and nothing
quoted."""

import re
from pathlib import Path

import pytest

from envmill.base.settings import ROOT
from tests.audit.others import look, write_page
from tests.interop.importers.release import STATE, make_environments, make_scenario, write_release

PAGE = ROOT / "docs/audit/others.md"


@pytest.mark.long
async def test_a_release_is_counted_with_an_example_of_each_finding(tmp_path: Path) -> None:
    release = write_release(tmp_path / "release", make_environments(), [make_scenario()])
    page = "\n".join(write_page([await look("envscaler", release)]))
    assert re.search(r"^Mapped: \d+ of \d+ environments, 1 of 1 scenarios", page, re.MULTILINE)
    row = re.search(
        r"^\| W8 \|.*\| (\d+) \| (\d+) \| (\d+) \| (\d+) \| (.*) \|$", page, re.MULTILINE
    )
    assert row
    assert bool(int(row[2]) + int(row[3])) is bool(row[5])
    assert "`no_method` 1 (refused)" in page
    assert all(
        f"**{system}**" in page.partition("## What was not audited")[2]
        for system in ("awm", "envfactory")
    )
    assert [
        text
        for text in ("Lend the atlas", "Has thing", STATE["books"]["B1"]["title"])
        if text in page
    ] == []


def test_the_tracked_page_has_what_was_audited() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "a policy that does nothing is paid in 17 of 23 scenarios" in page
    assert "**A policy that does nothing is paid in 17 of 23 scenarios" in (
        PAGE.parent / "envscaler-released.md"
    ).read_text(encoding="utf-8")
    assert re.search(r"^Mapped: 3 of 3 environments\.$", page, re.MULTILINE)
    assert re.search(r"^Mapped: 3 of 4 environments", page, re.MULTILINE)
