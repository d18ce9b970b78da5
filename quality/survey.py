"""A survey: every promise that is due, asked of one run over a connection that was opened for it.

raw_<table> (given) ─► <table>, new_<table>, finals, made_by ─► one count per table for its rows, one question per sum ─► breaches
"""

# pyright: reportUnknownMemberType=false
# (duckdb's cursors give untyped rows)

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from quality.promise import Breach, Cost, Promise, RowPromise, TablePromise, TablePromises, Tally
from quality.promises import PROMISES
from quality.promises.sums import PRODUCTS
from quality.relations import make_relations

_MOST_SAMPLES = 20  # of a broken invariant: nothing is mended from them, a person reads them


@dataclass(frozen=True)
class Survey:
    """How every promise fared, and what broke it."""

    tallies: tuple[Tally, ...]
    breaches: tuple[Breach, ...]

    @property
    def invariants(self) -> list[Breach]:
        """Breaches that nothing can set aside."""
        return [one for one in self.breaches if one.severity == "invariant"]


def survey(
    connection: DuckDBPyConnection, fingerprints: Mapping[str, str], steps: Sequence[str], tables: Collection[str] | None = None
) -> Survey:
    """Judge what these steps wrote into these tables. No tables named: the run has ended, and all is judged, model calls among it."""
    make_relations(connection, fingerprints, steps, tables)
    judged = [
        one
        for found in PROMISES.values()
        if (due := _find_due(found, steps, tables))
        for one in _judge(connection, found.table, found.maker, due)
    ]
    return Survey(tuple(tally for tally, _ in judged), tuple(breach for _, broken in judged for breach in broken))


def _find_due(found: TablePromises, steps: Sequence[str], tables: Collection[str] | None) -> list[Promise]:
    """A promise of one table may fall due at the end of a step that writes to others."""
    judged = tables is None or found.table in tables
    return [one for one in found.promises if (one.step in steps if isinstance(one, RowPromise) and one.step else judged)]


def _judge(connection: DuckDBPyConnection, table: str, maker: str, due: Sequence[Promise]) -> Iterator[tuple[Tally, list[Breach]]]:
    conditions = [one for one in due if isinstance(one, RowPromise)]
    own, later = ([one for one in conditions if bool(one.step) is at_another] for at_another in (False, True))
    counted, rows = dict[str, int](), 0
    for source, promises in ((f"new_{table}", own), (table, later)):
        if promises:
            total, counts = _count(connection, source, promises)
            rows, counted = rows or total, counted | counts
    for promise in due:
        if isinstance(promise, TablePromise):
            breaches = _ask(connection, table, promise)
        elif counted.get(promise.name):
            breaches = _fetch(connection, table, maker, promise)
        else:
            breaches = []
        yield Tally(table, promise.name, promise.severity, promise.about, rows, len(breaches)), breaches


def _count(connection: DuckDBPyConnection, source: str, promises: Sequence[RowPromise]) -> tuple[int, dict[str, int]]:
    """All conditions of a table in one pass over it."""
    conditions = ", ".join(f"({promise.broken}) as {promise.name}" for promise in promises)
    counts = ", ".join(f"count_if({promise.name})" for promise in promises)
    row = connection.execute(f"select count(*), {counts} from (select {conditions} from {source})").fetchone()
    assert row is not None
    return row[0], dict(zip((promise.name for promise in promises), row[1:], strict=True))


def _fetch(connection: DuckDBPyConnection, table: str, maker: str, promise: RowPromise) -> list[Breach]:
    """The rows that break it, whole. Of a row made again only what readers see is judged: counting is quicker and counts them all."""
    source = table if promise.step else f"new_{table}"
    made_of, step = ("id", f"'{promise.step}'") if promise.step else (maker, "step")
    rows = connection.execute(
        f"""select id, {made_of}, {step}, {promise.seen}, to_json(seen)::varchar from (
                from {source} qualify row_number() over (partition by id order by try_number desc, bucket) = 1) seen
            where {promise.broken} order by id"""
    ).fetchall()
    return [
        Breach(table, promise.name, promise.severity, key, subject, at, _tell(promise, seen), _cost(table, promise, at), content)
        for key, subject, at, seen, content in rows
    ]


def _tell(promise: RowPromise, seen: str) -> str:
    return f"{promise.about}: {seen}" if seen else promise.about


def _cost(table: str, promise: RowPromise, step: str) -> Cost:
    if promise.costs_subject:
        return "subject"
    return "child" if PRODUCTS.get(step) == table else "nothing"


def _ask(connection: DuckDBPyConnection, table: str, promise: TablePromise) -> list[Breach]:
    limit = "" if promise.severity == "claim" else f" limit {_MOST_SAMPLES}"
    rows = connection.execute(f"select id, subject, step, seen from ({promise.question}) order by all{limit}").fetchall()
    costs: Cost = "child" if promise.severity == "claim" else "nothing"
    return [
        Breach(table, promise.name, promise.severity, key, subject, step, f"{promise.about}: {seen}", costs)
        for key, subject, step, seen in rows
    ]
