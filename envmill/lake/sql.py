"""Questions to the lake in SQL: one statement that only reads, in bounded time and memory; any
other end is an error with its mend.

question ─► is it one? ─► database over the lake, locked ─► rows as they are asked for ─► timer and file check behind it
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownParameterType=false
# (pyarrow ships no types; duckdb gives Python values of any type)

import threading
import warnings
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, NoReturn

import duckdb
import pyarrow as pa
from duckdb import DuckDBPyConnection

from envmill.base.errors import LakeError, Refused, SettingsError
from envmill.lake.lake import Lake
from envmill.lake.statement import require_question
from envmill.lake.views import VIEWS, open_views
from envmill.lake.views.opening import check_files
from schemas.tables import TABLES

Row = tuple[Any, ...]
Values = Sequence[Any] | Mapping[str, Any]
"""What stands for `?`, or for `$name`, in a question."""

_BATCH = 1000  # rows taken from DuckDB at once
_MISTAKES = (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException)
"""The question itself is wrong: no file can be at fault."""


@dataclass(frozen=True)
class QueryLimits:
    """What one question may take."""

    seconds: float = 30.0
    """Time until its last row."""
    memory: str = "1GB"
    """Memory, as DuckDB counts it; nothing is spilled to disk."""


class QueryResult:
    """Rows of a question, made while they are read."""

    def __init__(self, connection: DuckDBPyConnection) -> None:
        self._connection = connection
        self.columns: list[str] = [column[0] for column in connection.description or []]
        self.types: list[str] = [str(column[1]) for column in connection.description or []]

    def rows(self) -> Iterator[Row]:
        """One after the other."""
        while batch := self._connection.fetchmany(_BATCH):
            yield from batch

    def batches(self) -> pa.RecordBatchReader:
        """The same as Arrow, a part at a time."""
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", UserWarning
            )  # "makes an extra copy": of one part, and the other way has no parameters
            return self._connection.to_arrow_reader(_BATCH)


@contextmanager
def ask(
    lake: Lake, question: str, values: Values = (), limits: QueryLimits | None = None
) -> Generator[QueryResult]:
    """Put one question. Rows are read inside the block: the time limit and the errors of the lake
    hold for them too."""
    with ExitStack() as stack:
        connection = stack.enter_context(open_lake(lake, limits, question))
        require_question(connection, question)
        try:
            answer = QueryResult(connection.execute(question, values))
        except (
            duckdb.IOException
        ):  # a file was merged since it was listed: the next listing names its successor
            answer = QueryResult(
                stack.enter_context(open_lake(lake, limits, question)).execute(question, values)
            )
        yield answer


@contextmanager
def open_lake(
    lake: Lake, limits: QueryLimits | None = None, question: str = ""
) -> Generator[DuckDBPyConnection]:
    """Tables and views for questions of our own, or what one question names; one time limit over
    all of them, and the same errors."""
    limits, runs = limits or QueryLimits(), lake.runs()
    connection = open_views(lake, runs, limits.memory, question)
    timer = threading.Timer(limits.seconds, connection.interrupt)
    timer.daemon = True
    timer.start()
    try:
        yield connection
    except duckdb.Error as error:
        _explain(error, lake, runs, limits)
    finally:
        timer.cancel()
        connection.close()


def fetch(lake: Lake, question: str, values: Values = ()) -> list[Row]:
    """All rows of a small answer."""
    with ask(lake, question, values) as answer:
        return list(answer.rows())


def _explain(error: duckdb.Error, lake: Lake, runs: Sequence[str], limits: QueryLimits) -> NoReturn:
    """DuckDB's words point at the place in the question; what it cannot know is added."""
    said = f"The question cannot be answered: {error}"
    if isinstance(error, duckdb.InterruptException):
        raise Refused(
            f"The question took longer than {limits.seconds:g} s. Narrow it to a run (where run = "
            "…), or allow more time."
        ) from error
    if isinstance(error, duckdb.OutOfMemoryException):
        raise Refused(
            f"The question needs more than {limits.memory} of memory. Narrow it, aggregate, or "
            "allow more memory."
        ) from error
    if isinstance(error, duckdb.PermissionException):
        raise Refused(f"{said}\nA question reads the lake and nothing else.") from error
    if isinstance(error, duckdb.CatalogException) and "Table with name" in str(error):
        raise SettingsError(
            f"{said}\n\nTables: {' '.join(TABLES)}\nViews: {' '.join(VIEWS)}"
        ) from error
    if isinstance(error, _MISTAKES):
        raise SettingsError(said) from error
    check_files(lake, runs)
    if isinstance(error, duckdb.IOException):
        raise LakeError(
            f"{said}\nA compaction removed files while they were read, or a file is damaged. Ask "
            "again."
        ) from error
    raise SettingsError(said) from error
