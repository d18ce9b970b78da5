"""Data Docs of a night, as pages that ask nothing of the network: what they would load goes, a
small style sheet comes."""

# pyright: reportMissingTypeStubs=false
# (pandas ships no stubs)

import re
import shutil
from collections.abc import Iterator, Mapping
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING

from quality.nights.drift import MeanBounds
from quality.nights.suites import run_suites

if TYPE_CHECKING:
    import pandas as pd

_REMOTE = re.compile(
    r"""<script\b[^>]*\bsrc=["']https?:[^>]*>\s*</script>|<(?:link|img)\b[^>]*\b(?:href|src)=["']https?:[^>]*>""",
    re.IGNORECASE,
)
_SCRIPT = re.compile(r"<script\b.*?</script>", re.IGNORECASE | re.DOTALL)
_LEFT_OUT = ("static/fonts", "static/images")
_STYLE = """<style>
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #222; background: #fff }
table { border-collapse: collapse; margin: .5rem 0 1.5rem }
td, th { border: 1px solid #ccc; padding: .3rem .6rem; text-align: left; vertical-align: top }
.fa-check-circle::before { content: "met"; color: #176b2c } .fa-times::before { content: "not met"; color: #a11; font-weight: bold }
.modal, .dropdown-menu, .cooltip, [role=dialog], button, nav, footer, .card.mb-3, iframe, form, input { display: none !important }
</style></head>"""
_PAGE = """<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Night {run}</title></head><body>
<h1>Night {run}</h1><p>What Great Expectations found in the rows that this run wrote. Each page lists every expectation of a table.</p>
<table><tr><th>table</th><th>rows</th><th>expectations that are not met</th></tr>{rows}</table></body></html>
"""


def write_docs(
    run: str, frames: "Mapping[str, pd.DataFrame]", bounds: Mapping[str, MeanBounds], folder: Path
) -> Path:
    """Write them, and return the page to begin with."""
    broken = run_suites(run, frames, bounds, folder)
    for part in _LEFT_OUT:
        shutil.rmtree(folder / part, ignore_errors=True)
    for page in folder.rglob("*.html"):
        text = _SCRIPT.sub("", _REMOTE.sub("", page.read_text(encoding="utf-8")))
        page.write_text(text.replace("</head>", _STYLE, 1), encoding="utf-8")
    index = folder / "index.html"
    rows = "".join(_list_suites(folder, frames, broken))
    index.write_text(
        _PAGE.format(run=escape(run), rows=rows).replace("</head>", _STYLE, 1), encoding="utf-8"
    )
    return index


def _list_suites(
    folder: Path, frames: "Mapping[str, pd.DataFrame]", broken: Mapping[str, str]
) -> Iterator[str]:
    """A row of the first page for each table. Its own list is drawn by scripts from elsewhere."""
    for name, frame in frames.items():
        page = next((folder / "validations" / name).rglob("*.html")).relative_to(folder)
        said = "<br>".join(
            escape(words) for key, words in broken.items() if key.startswith(f"{name}.")
        )
        yield (
            "<tr><td><a "
            f'href="{page.as_posix()}">{name}</a></td><td>{len(frame)}</td><td>{said or "none"}</td></tr>'
        )
