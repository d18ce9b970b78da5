"""A question to the lake: one statement that only reads."""

from collections.abc import Sequence
from typing import Any

import duckdb

from envmill.errors import SettingsError
from envmill.lake.lake import Lake
from envmill.lake.views import open_views
from flows.local.home import Home

FUNNEL = "select * exclude (run) replace (round(seconds, 2) as seconds) from funnel where run = ?"

Answer = tuple[list[str], list[tuple[Any, ...]]]
"""Column names and rows."""


def find_run(home: Home, run: str | None = None) -> str:
    """The run meant: the latest when none is named."""
    known = Lake(home.settings.lake).runs()
    if not known:
        raise SettingsError(f"No run in {home.settings.lake} yet. Start one with `envmill run`.")
    if run is not None and run not in known:
        raise SettingsError(f"No run {run} in {home.settings.lake}. Latest runs: {', '.join(known[-10:])}.")
    return run or known[-1]


def ask(home: Home, question: str, values: Sequence[Any] = ()) -> Answer:
    """The connection is locked to the lake's folder: a question can neither write there nor look elsewhere."""
    with open_views(Lake(home.settings.lake)) as connection:
        try:
            _check_reads(connection, question)
            answer = connection.execute(question, list(values))
            return [column[0] for column in answer.description or []], answer.fetchall()
        except duckdb.Error as error:
            raise SettingsError(f"The question cannot be answered: {error}") from error


def _check_reads(connection: duckdb.DuckDBPyConnection, question: str) -> None:
    statements = connection.extract_statements(question)
    if len(statements) != 1 or statements[0].type.name not in ("SELECT", "EXPLAIN"):
        raise SettingsError("Ask one SELECT or EXPLAIN statement; only runs write to the lake.")
