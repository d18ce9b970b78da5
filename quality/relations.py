"""The relations that promises are stated over, made of the raw rows of one run. `quality.promise`
says what each of them is."""

# pyright: reportUnknownMemberType=false
# (duckdb's cursors give untyped rows)

from collections.abc import Collection, Iterable, Mapping, Sequence
from concurrent.futures import Executor

from duckdb import DuckDBPyConnection

from quality.promises import PROMISES
from quality.promises.sums import PRODUCTS, UPSTREAM
from schemas.tables import TABLES


def make_relations(
    connection: DuckDBPyConnection,
    fingerprints: Mapping[str, str],
    steps: Sequence[str],
    tables: Collection[str] | None,
    pool: Executor,
) -> None:
    """For judging these steps and tables; all tables when none are named."""
    asked = _list(steps)
    at = (
        f"step in ({asked})"
        if tables is not None
        else f"(step in ({asked}) or step not in ({_list(fingerprints)}))"
    )
    _make_table_views(
        connection,
        f"fingerprint in ({_list(('', *fingerprints.values()))})",
        at,
        TABLES if tables is None else tables,
    )
    made = (
        ("asked", "judges_calls", f"select {tables is None}"),
        ("raw_made", "step, bucket, try_number", _unite(map(_raw_rows, steps), "'', 0, 0")),
        ("made_by", "who, there", _unite(map(_seen_rows, steps), "0::ubigint, 0")),
    )
    waiting = [pool.submit(_make_table, connection, *one) for one in made]
    _make_table(
        connection,
        "finals",
        "who, step, subject, bucket, outcome, reason, children, try_number, by_quality",
        _FINALS,
    )
    _make_table(
        connection,
        "expected",
        "who, step, subject",
        _unite(map(_expect, steps), "0::ubigint, '', ''"),
    )  # stands on finals
    connection.execute(
        f"create or replace view new_finals as select * from finals where step in ({asked})"
    )
    for one in waiting:
        one.result()


def _make_table(connection: DuckDBPyConnection, name: str, columns: str, question: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"create or replace table {name}({columns}) as {question}")


def _make_table_views(
    connection: DuckDBPyConnection, known: str, at: str, judged: Collection[str]
) -> None:
    aside = {
        row[0]
        for row in connection.execute("select distinct table_name from raw_quarantine").fetchall()
    }
    for table in TABLES:
        left = (
            f"""id not in (select "row" from raw_quarantine where table_name = '{table}')"""
            if table in aside
            else "true"
        )
        seen = (
            "true" if table == "attrition" else left
        )  # the ledger stays whole: a bad line of it still counts a subject
        connection.execute(
            f"create or replace view {table} as select * from raw_{table} where {known} and {seen}"
        )
        if table in judged:
            connection.execute(
                f"create or replace view new_{table} as select * from {table} where {at} and {left}"
            )


_FINALS = """
    with exits as not materialized (select hash(step, subject) as who, * from attrition where gate = 'exit'),
         others as (select who from exits where try_number <> 1),
         again as (select who, max(try_number) as newest from exits where who in (from others) group by who),
         told as (select hash(step, bucket, try_number) from attrition where gate = 'quality')
    select who, step, subject, bucket, outcome, reason, children, try_number, hash(step, bucket, try_number) in (from told)
    from exits left join again using (who) where newest is null or try_number = newest"""
"""Only subjects with another attempt than the first are grouped: most have none."""


def _raw_rows(step: str) -> str:
    return (
        f"select distinct step, bucket, try_number from raw_{PRODUCTS[step]} where step = '{step}'"
        if step in PRODUCTS
        else ""
    )


def _seen_rows(step: str) -> str:
    """Of a row made twice readers see the latest attempt, and of two in the same attempt the one in
    the first bucket."""
    if step not in PRODUCTS:
        return ""
    table = PRODUCTS[step]
    maker = f"max_by(hash('{step}', {PROMISES[table].maker}), try_number * 1000000 - bucket)"
    return f"select who, count(*) from (select {maker} as who from {table} where step = '{step}' group by hash(id)) group by who"


def _expect(step: str) -> str:
    return (
        f"select hash('{step}', one), '{step}', one from ({UPSTREAM[step]}) found(one)"
        if step in UPSTREAM
        else ""
    )


def _unite(questions: Iterable[str], shape: str) -> str:
    """Nothing asked gives nothing, in the same columns."""
    return " union all ".join(filter(None, questions)) or f"select {shape} where false"


def _list(texts: Iterable[str]) -> str:
    return ", ".join("'" + text.replace("'", "''") + "'" for text in texts)
