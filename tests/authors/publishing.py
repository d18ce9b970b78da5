"""`python -m tests.authors.publishing`: write our own page and the table in the README from the
kept lines."""

from collections.abc import Iterator
from pathlib import Path

from envmill.base.settings import ROOT
from tests.authors.evidence import read_evidence
from tests.authors.page import summarise, write_page

KEPT = Path(__file__).parent / "kept"
PAGE = ROOT / "docs/audit/real-authors.md"
README = ROOT / "README.md"
BEGIN, END = "<!-- measured: python -m tests.authors.publishing -->", "<!-- measured -->"


def render() -> Iterator[tuple[Path, str]]:
    """Each file with what it should say."""
    kept = read_evidence(KEPT)
    yield PAGE, "\n".join(write_page(kept)).rstrip() + "\n"
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    yield README, f"{before}{BEGIN}\n{chr(10).join(summarise(kept))}\n{END}{after}"


if __name__ == "__main__":
    for path, text in render():
        path.write_text(text, encoding="utf-8")
