"""Promises that several tables make in the same words."""

from quality.promise import RowPromise, TablePromise
from schemas.shapes import shape_of
from schemas.tables import TABLES


def unique_key(table: str, *within: str) -> TablePromise:
    """A row that counts twice is a file that counts twice. `within`: where else the same key may
    come again."""
    columns = ", ".join(("id", *within))
    hashed = f"hash({columns})"
    return TablePromise(
        "key_unique",
        f"(run, {', '.join(('id', *within))}) is unique",
        f"""select id, '' as subject, step, count(*) || ' rows' as seen from raw_{table}
            where {hashed} in (select {hashed} from raw_{table} group by all having count(*) > 1)
            group by id, step having count(*) > 1""",  # hashes first: they group ten times as fast as texts
    )


def unique_batch_key(table: str) -> TablePromise:
    """For content: the same thing may be made again by another batch or attempt."""
    return unique_key(table, "step", "fingerprint", "bucket", "try_number")


def json_parses(table: str) -> RowPromise:
    """JSON is stored as text; text that does not parse breaks every query over the column."""
    columns = [column.name for column in shape_of(TABLES[table]) if column.type == "json"]
    broken = " or ".join(f"not coalesce(json_valid({name}), true)" for name in columns)
    names = ", ".join(columns)
    return RowPromise("json_parses", f"JSON parses: {names}", broken)


def refers_to(column: str, *tables: str) -> RowPromise:
    """The row named in a column is there."""
    known = " union all ".join(f"select hash(id) from {table}" for table in tables)
    where = " or ".join(tables)
    return RowPromise(
        f"{column}_exists",
        f"`{column}` names a row of {where}",
        f"hash({column}) not in ({known})",
        f"'{column} is ' || {column}",
    )


def between_0_and_1(name: str, about: str, column: str) -> RowPromise:
    """Null is allowed, NaN is not."""
    return RowPromise(
        name,
        about,
        f"coalesce(not (isfinite({column}) and {column} between 0 and 1), false)",
        f"'{column} is ' || {column}",
    )


def says(column: str, about: str) -> RowPromise:
    """A text that must not be empty."""
    return RowPromise(f"{column}_said", about, f"{column} = ''")
