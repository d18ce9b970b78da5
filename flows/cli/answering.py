"""One question from the command line, answered in the shape that was asked for."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

from envmill.base.errors import Refused, SettingsError
from envmill.lake.lake import Lake
from envmill.lake.sql import QueryLimits, QueryResult, ask
from flows.cli.bounds import bound
from flows.cli.formats import print_csv, print_json, print_table, write_parquet
from flows.cli.printing import print_text
from flows.local.home import Home

MOST_ROWS = 10_000
"""On a terminal and as lines; a file or a program asks for all it wants."""

_SIZE = re.compile(r"\d+(\.\d+)?\s*([KMGT]i?B)", re.IGNORECASE)


@dataclass(frozen=True)
class AnswerFormat:
    """How an answer is given."""

    form: str
    path: Path | None
    limit: int

    @classmethod
    def pick(cls, json: bool, csv: bool, parquet: Path | None, limit: int | None) -> "AnswerFormat":
        """At most one form can be asked for."""
        forms = [
            name
            for name, asked in (("json", json), ("csv", csv), ("parquet", parquet is not None))
            if asked
        ]
        if len(forms) > 1:
            raise SettingsError(f"Choose one of {', '.join(f'--{form}' for form in forms)}.")
        if parquet is not None and limit:
            raise SettingsError(
                "--parquet writes every row: put a LIMIT into the question instead of --limit."
            )
        form = forms[0] if forms else "table"
        return cls(
            form, parquet, limit if limit is not None else MOST_ROWS if form == "table" else 0
        )

    def give(self, answer: QueryResult) -> None:
        """Print or write it."""
        if self.path is not None:
            rows = write_parquet(answer, self.path)
            return print_text(f"{rows:,} rows written to {self.path}", err=True)
        return {"json": print_json, "csv": print_csv, "table": print_table}[self.form](
            answer, self.limit
        )


def answer(home: Home, question: str, limits: QueryLimits, shape: AnswerFormat) -> None:
    """Ask and give, within bounds that hold whatever the question does."""
    if not _SIZE.fullmatch(limits.memory):
        raise SettingsError(f"--memory is {limits.memory!r}: write it like 512MB or 4GB.")
    lake = Lake(home.settings.lake)
    if shape.path is not None and shape.path.resolve().is_relative_to(Path(lake.url).resolve()):
        raise SettingsError(
            f"{shape.path} lies in the lake, where only runs write. Name a file elsewhere."
        )
    text = sys.stdin.read() if question == "-" else question
    try:
        with bound(limits.seconds), ask(lake, text, limits=limits) as found:
            shape.give(found)
    except MemoryError as error:
        raise Refused(
            "The answer does not fit into memory. Aggregate, or ask for fewer rows and columns."
        ) from error
