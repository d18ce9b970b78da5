"""The page about τ²-bench says what the importer finds."""

from envmill.base.settings import ROOT
from envmill.sandbox import Sandbox
from tests.audit.tau2 import LINTS, look, write_counts, write_page, write_row
from tests.interop.importers.tau2.vectors import RELEASE

PAGE = ROOT / "docs/audit/tau2.md"


async def test_the_tracked_page_says_of_a_domain_what_is_found_again(jail: Sandbox) -> None:
    mock = await look(RELEASE, "mock", jail)
    page = PAGE.read_text(encoding="utf-8").split("\n")
    assert write_row(mock) in page
    assert write_counts(mock) in page
    found = {remark.code for remark in mock.harvest.remarks if remark.code in LINTS}
    rows = [line for line in write_page([mock]) if line.startswith("| `")]
    assert {row.split("`")[1] for row in rows} == found
    told = {line.split("`")[1]: line for line in page if line.startswith("| `")}
    assert all(row.split("|")[3].strip() in told[row.split("`")[1]] for row in rows)


def test_the_tracked_page_finds_every_vector_equal() -> None:
    page = PAGE.read_text(encoding="utf-8")
    assert "| retail | 114 | envmill's re-implementation of retail | 632 | 632 |" in page
    assert "| telecom | 20 | envmill's re-implementation of telecom | 105 | 105 |" in page
