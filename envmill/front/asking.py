"""Questions to the lake in SQL."""

from typing import Any

from envmill.base.settings import Settings
from envmill.front.settings import settle
from envmill.lake.lake import Lake
from envmill.lake.sql import Values, ask


def query(
    question: str, values: Values = (), *, settings: Settings | None = None
) -> list[dict[str, Any]]:
    """Ask one SELECT of the lake's tables and views; docs/tables.md lists them. A row is a
    dictionary. `values` fill `?` or `$name`."""
    with ask(Lake(settle(settings).lake), question, values) as answer:
        return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows()]
