"""A survey: every promise that is due, asked of one run over a connection that was opened for it.

raw_<table> (given) ─► <table>, new_<table>, finals, made_by ─► looks, two at a time ─► tallies and breaches
"""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from quality.look import Look, TableLook, plan_looks
from quality.promise import BrokenPromise, Promise, PromiseTally, RowPromise, TablePromises
from quality.promises import PROMISES
from quality.relations import make_relations

_AT_ONCE = 2  # most looks read one row group, which DuckDB gives to one core


@dataclass(frozen=True)
class Survey:
    """How every promise fared, and what broke it."""

    tallies: tuple[PromiseTally, ...]
    breaches: tuple[BrokenPromise, ...]

    @property
    def invariants(self) -> list[BrokenPromise]:
        """Breaches that nothing can set aside."""
        return [one for one in self.breaches if one.severity == "invariant"]


def survey(
    connection: DuckDBPyConnection,
    fingerprints: Mapping[str, str],
    steps: Sequence[str],
    tables: Collection[str] | None = None,
) -> Survey:
    """Judge what these steps wrote into these tables. No tables named: the run has ended, and all
    is judged, model calls among it."""
    due = {
        found.table: promises
        for found in PROMISES.values()
        if (promises := _find_due(found, steps, tables))
    }
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        make_relations(connection, fingerprints, steps, tables, pool)
        looks = {
            table: [
                pool.submit(_take, look, connection)
                for look in plan_looks(PROMISES[table], promises)
            ]
            for table, promises in due.items()
        }
    judged = [
        one
        for table, promises in due.items()
        for one in _distinguish(table, promises, looks[table])
    ]
    return Survey(
        tuple(tally for tally, _ in judged),
        tuple(breach for _, broken in judged for breach in broken),
    )


def _find_due(
    found: TablePromises, steps: Sequence[str], tables: Collection[str] | None
) -> list[Promise]:
    """A promise of one table may fall due at the end of a step that writes to others."""
    judged = tables is None or found.table in tables
    return [
        one
        for one in found.promises
        if (one.step in steps if isinstance(one, RowPromise) and one.step else judged)
    ]


def _take(look: Look, connection: DuckDBPyConnection) -> TableLook:
    """A cursor of its own: one connection answers one question at a time."""
    with connection.cursor() as cursor:
        return look(cursor)


def _distinguish(
    table: str, promises: Sequence[Promise], looks: Sequence[Future[TableLook]]
) -> list[tuple[PromiseTally, list[BrokenPromise]]]:
    """Promise by promise, in the order the table states them."""
    seen = [look.result() for look in looks]
    rows = next((one.rows for one in seen if one.rows), 0)
    broken = {name: breaches for one in seen for name, breaches in one.broken.items()}
    return [
        (PromiseTally(table, one.name, one.severity, one.about, rows, len(found)), found)
        for one in promises
        for found in [broken.get(one.name, [])]
    ]
