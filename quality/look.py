"""One look at a table: all conditions on its rows in one pass, or one question about the whole.

Only rows that break something are fetched.
"""

# pyright: reportUnknownMemberType=false
# (duckdb's cursors give untyped rows)

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from duckdb import DuckDBPyConnection

from quality.promise import BrokenPromise, Cost, Promise, RowPromise, TablePromise, TablePromises
from quality.promises.sums import PRODUCTS

_MOST_SAMPLES = 20  # of a broken invariant: nothing is mended from them, a person reads them


@dataclass(frozen=True)
class TableLook:
    """What one look saw."""

    rows: int = 0
    """Rows that were judged; 0 when the look was not at rows."""
    broken: Mapping[str, list[BrokenPromise]] = field(
        default_factory=dict[str, list[BrokenPromise]]
    )
    """Promise → what breaks it."""


Look = Callable[[DuckDBPyConnection], TableLook]


def plan_looks(found: TablePromises, due: Sequence[Promise]) -> Iterator[Look]:
    """Looks at one table; none waits for another."""
    conditions = [one for one in due if isinstance(one, RowPromise)]
    for source, later in ((f"new_{found.table}", False), (found.table, True)):
        if promises := [one for one in conditions if bool(one.step) is later]:
            yield partial(_check_rows, found=found, source=source, promises=promises)
    for promise in due:
        if isinstance(promise, TablePromise):
            yield partial(_check_table, table=found.table, promise=promise)


def _check_rows(
    connection: DuckDBPyConnection,
    found: TablePromises,
    source: str,
    promises: Sequence[RowPromise],
) -> TableLook:
    rows, counts = _count(connection, source, promises)
    return TableLook(
        rows,
        {one.name: _fetch(connection, found, source, one) for one in promises if counts[one.name]},
    )


def _check_table(connection: DuckDBPyConnection, table: str, promise: TablePromise) -> TableLook:
    limit = "" if promise.severity == "claim" else f" limit {_MOST_SAMPLES}"
    rows = connection.execute(
        f"select id, subject, step, seen from ({promise.question}) order by all{limit}"
    ).fetchall()
    costs: Cost = "child" if promise.severity == "claim" else "nothing"
    breaches = [
        BrokenPromise(
            table,
            promise.name,
            promise.severity,
            key,
            subject,
            step,
            f"{promise.about}: {seen}",
            costs,
        )
        for key, subject, step, seen in rows
    ]
    return TableLook(broken={promise.name: breaches})


def _count(
    connection: DuckDBPyConnection, source: str, promises: Sequence[RowPromise]
) -> tuple[int, dict[str, int]]:
    """All conditions of a table in one pass over it."""
    conditions = ", ".join(f"({promise.broken}) as {promise.name}" for promise in promises)
    counts = ", ".join(f"count_if({promise.name})" for promise in promises)
    row = connection.execute(
        f"select count(*), {counts} from (select {conditions} from {source})"
    ).fetchone()
    assert row is not None
    return row[0], dict(zip((promise.name for promise in promises), row[1:], strict=True))


def _fetch(
    connection: DuckDBPyConnection, found: TablePromises, source: str, promise: RowPromise
) -> list[BrokenPromise]:
    """The rows that break it, whole. Of a row made again only what readers see is judged: counting
    is quicker and counts them all."""
    made_of, step = ("id", f"'{promise.step}'") if promise.step else (found.maker, "step")
    rows = connection.execute(
        f"""select id, {made_of}, {step}, {promise.seen}, to_json(seen)::varchar from (
                from {source} qualify row_number() over (partition by id order by try_number desc, bucket) = 1) seen
            where {promise.broken} order by id"""
    ).fetchall()
    return [
        BrokenPromise(
            found.table,
            promise.name,
            promise.severity,
            key,
            subject,
            at,
            _describe(promise, seen),
            _cost(found.table, promise, at),
            content,
        )
        for key, subject, at, seen, content in rows
    ]


def _describe(promise: RowPromise, seen: str) -> str:
    return f"{promise.about}: {seen}" if seen else promise.about


def _cost(table: str, promise: RowPromise, step: str) -> Cost:
    if promise.costs_subject:
        return "subject"
    return "child" if PRODUCTS.get(step) == table else "nothing"
