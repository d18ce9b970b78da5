"""A SQLite file from elsewhere, read into JSON, in a jailed process only: a crafted file attacks
its reader."""

import base64
import sqlite3
from contextlib import closing
from typing import Any

from envmill.runtime.canonical import Json, render

MAX_ROWS = 200_000
"""Rows of all tables together; what is more than a state may hold is refused anyway."""


def read_database(content: bytes) -> dict[str, Json]:
    """Rows by table, sorted by their JSON, or ValueError. Views, triggers and virtual tables
    are not run."""
    if not content:
        # An empty file is an empty database.
        return {}
    with closing(sqlite3.connect(":memory:")) as opened:
        try:
            opened.deserialize(_unlog(content))
            for pragma in (
                "trusted_schema = off",
                "query_only = on",
                "cell_size_check = on",
                "temp_store = memory",
            ):
                opened.execute(f"pragma {pragma}")
            _refuse_damage(opened, len(content))
            return _read_tables(opened)
        except (sqlite3.Error, OverflowError, MemoryError) as error:
            raise ValueError(f"this is no SQLite file that can be read: {error}") from None


def _refuse_damage(opened: sqlite3.Connection, size: int) -> None:
    """Lost rows would be a wrong end, and an agent would pay for them."""
    expected = (
        opened.execute("pragma page_count").fetchone()[0]
        * opened.execute("pragma page_size").fetchone()[0]
    )
    (said,) = opened.execute("pragma quick_check(1)").fetchone()
    if said != "ok" or size != expected:
        raise ValueError(
            "the SQLite file is damaged: "
            f"{said if said != 'ok' else f'{size} bytes instead of {expected}'}"[:300]
        )


def _read_tables(opened: sqlite3.Connection) -> dict[str, Json]:
    listed = opened.execute(
        "select name from pragma_table_list where schema = 'main' and type = 'table' and name not "
        "like 'sqlite\\_%' escape '\\'"
    )
    tables: dict[str, Json] = {}
    left = MAX_ROWS
    for (name,) in sorted(listed.fetchall()):
        rows = opened.execute(
            'select * from "{}" limit ?'.format(name.replace('"', '""')), (left + 1,)
        )
        columns = [column[0] for column in rows.description]
        found: list[Json] = [
            dict(zip(columns, map(_render_value, row), strict=True)) for row in rows
        ]
        left -= len(found)
        if left < 0:
            raise ValueError(f"more than {MAX_ROWS} rows")
        tables[name] = sorted(found, key=render)
    return tables


def _unlog(content: bytes) -> bytes:
    """A file in write-ahead mode cannot be opened in memory; without its log it is an ordinary
    one."""
    return content[:18] + b"\1\1" + content[20:] if content[18:20] == b"\2\2" else content


def _render_value(value: Any) -> Json:
    return {"$bytes": base64.b64encode(value).decode()} if isinstance(value, bytes) else value
