"""Questions the command line asks the lake for its user."""

from collections.abc import Sequence
from typing import Any

from envmill.base.errors import SettingsError
from envmill.lake.lake import Lake
from envmill.lake.sql import QueryLimits, Values
from envmill.lake.sql import ask as ask_lake
from flows.local.home import Home

FUNNEL = "select * exclude (run) replace (round(seconds, 2) as seconds) from funnel where run = ?"

Table = tuple[list[str], list[tuple[Any, ...]]]
"""Column names and rows."""


def find_run(home: Home, run: str | None = None) -> str:
    """The run meant, by its id or the beginning of it: the latest when none is named."""
    known = Lake(home.settings.lake).runs()
    if not known:
        raise SettingsError(f"No run in {home.settings.lake} yet. Start one with `envmill run`.")
    matches = [one for one in known if one.startswith(run)] if run else known[-1:]
    if run in known:
        return run
    if not matches:
        raise SettingsError(
            f"No run {run} in {home.settings.lake}. Latest runs: {', '.join(known[-10:])}."
        )
    if len(matches) > 1:
        raise SettingsError(
            f"{run} is the beginning of {len(matches)} runs: {', '.join(matches[-10:])}. Type "
            "more of the one you mean."
        )
    return matches[0]


def ask(home: Home, question: str, values: Values = (), limits: QueryLimits | None = None) -> Table:
    """A small answer, whole."""
    with ask_lake(Lake(home.settings.lake), question, values, limits) as answer:
        return answer.columns, list(answer.rows())


def ask_run(
    home: Home, run: str | None, questions: Sequence[tuple[str, str]]
) -> list[tuple[str, Table]]:
    """Titled questions, each with one `?` for the run."""
    meant = find_run(home, run)
    return [(title, ask(home, question, [meant])) for title, question in questions]
