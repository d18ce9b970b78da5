"""The views as documentation, with answers from the example lake: `python -m
tests.lake.views.pages` renews docs/views/."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from duckdb import DuckDBPyConnection

from envmill.base.settings import ROOT
from envmill.lake.lake import Lake
from envmill.lake.views import VIEWS, View, open_views
from tests.lake.views.example import fill

FOLDER = ROOT / "docs/views"


def render(connection: DuckDBPyConnection) -> dict[str, str]:
    """File name → page."""
    pages = {
        f"{view.name}.md": "\n".join(_page(view, connection)) + "\n" for view in VIEWS.values()
    }
    return pages | {"README.md": "\n".join(_index()) + "\n"}


def _index() -> Iterator[str]:
    yield "# Views"
    yield ""
    yield (
        "Questions people ask daily, as views with stable names over the [tables](../tables.md). "
        "Ask them with `envmill sql`,"
    )
    yield (
        "`envmill views NAME` shows one, and `envmill views --sql` writes the SQL that gives a "
        "plain DuckDB shell the same views."
    )
    yield (
        "Rows of finished runs are kept as files when a run is compacted, so that a view stays "
        "quick however many runs there are."
    )
    yield ""
    yield "| view | says |"
    yield "|---|---|"
    for view in VIEWS.values():
        yield f"| [`{view.name}`]({view.name}.md) | {_flow(view.about)} |"


def _page(view: View, connection: DuckDBPyConnection) -> Iterator[str]:
    yield f"# `{view.name}`"
    yield ""
    yield view.about
    yield ""
    yield "| column | type | meaning |"
    yield "|---|---|---|"
    for column, kind, *_ in connection.execute(f'describe "{view.name}"').fetchall():
        yield f"| `{column}` | {kind} | {view.columns[column]} |"
    for title, question in view.questions:
        yield from ["", f"## {title}", "", "```sql", question, "```", ""]
        yield from _answer(connection, question)


def _answer(connection: DuckDBPyConnection, question: str) -> Iterator[str]:
    """Rows of the example lake: their shape is what matters."""
    asked = connection.execute(question)
    columns, rows = [column[0] for column in asked.description or []], asked.fetchall()
    yield f"| {' | '.join(columns)} |"
    yield "|" + "---|" * len(columns)
    for row in rows:
        yield f"| {' | '.join(map(_render_value, row))} |"


def _render_value(value: Any) -> str:
    return "" if value is None else _flow(str(value)).replace("|", "\\|")


def _flow(text: str) -> str:
    return re.sub(r"\s+", " ", text)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        lake = Lake(Path(place) / "lake")
        fill(lake)
        for name, page in render(open_views(lake)).items():
            (FOLDER / name).write_text(page, encoding="utf-8")
