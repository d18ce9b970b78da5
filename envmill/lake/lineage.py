"""Lineage: any record by the beginning of its id, where it came from up to its seed, and what
became of it.

seed ◄─ blueprint ◄─ environment ◄─ draft ◄─ scenario ◄─ rollout ◄─ trajectory
"""

# pyright: reportUnknownMemberType=false
# (duckdb takes Python values of any type)

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from duckdb import DuckDBPyConnection

from envmill.base.errors import SettingsError
from envmill.lake.sql import Row, Values
from envmill.lake.views.source import column_types
from schemas.base import Json
from schemas.shapes import shape_of
from schemas.tables import TABLES

PARENTS: Mapping[str, str] = {
    "blueprints": "origin ->> 'seed'",
    "environments": "blueprint",
    "builds": "subject",
    "tests": "environment",
    "errands": "environment",
    "drafts": "environment",
    "scenarios": "draft",
    "rollouts": "scenario",
    "trajectories": "rollout",
    "pairs": "chosen",
    "attacks": "scenario",
    "gate_evidence": "subject",
    "attrition": "subject",
    "model_calls": "subject",
    "verdicts": "subject",
    "reviews": "subject",
    "quarantine": '"row"',
    "withdrawals": "subject",
}
"""Table → SQL for the id of the record its row was made from, or speaks of."""

WHOLE = " ".join((*TABLES, "runs"))
"""Names what a connection must hold for the functions here, for `open_lake`: every table and one
view. To make all views takes as long again."""

_LEDGERS = ("attrition", "model_calls")
"""Tables too long to be searched for an id that does not say it is theirs."""

_MOST = 10  # matches and children that are named; the rest is counted


@dataclass(frozen=True)
class RecordInRun:
    """A record, as one run holds it."""

    table: str
    id: str
    run: str
    runs: tuple[str, ...]
    """All runs that hold it."""


@dataclass(frozen=True)
class Children:
    """Records of one table that were made from a record, or speak of it."""

    table: str
    count: int
    ids: tuple[str, ...]


def find(lake: DuckDBPyConnection, start: str, run: str = "") -> RecordInRun:
    """The one record whose id starts so, in the latest run that holds it."""
    matches = _search(lake, start, run) or _search_aside(lake, start, run)
    if not matches:
        place = f"run {run}" if run else "the lake"
        raise SettingsError(
            f"No record of {place} has an id that starts with {start!r}. `envmill tables` shows "
            "what there is."
        )
    if len(matches) > 1 and start not in (one for _, one in matches):
        named = "\n".join(f"  {one}  ({table})" for table, one in list(matches)[:_MOST])
        more = f"\n  … and {len(matches) - _MOST} more" if len(matches) > _MOST else ""
        raise SettingsError(
            f"{start!r} is the beginning of {len(matches)} ids. Type more of the one you mean:\n"
            f"{named}{more}"
        )
    table, key = next((pair for pair in matches if pair[1] == start), next(iter(matches)))
    runs = _sort_runs(lake, matches[table, key])
    return RecordInRun(table, key, runs[-1], tuple(runs))


def read(lake: DuckDBPyConnection, found: RecordInRun) -> dict[str, Json]:
    """Its columns, JSON parsed."""
    record = TABLES[found.table]
    columns = list(column_types(record))
    json_names = {column.name for column in shape_of(record) if column.type == "json"}
    (row,) = _fetch(
        lake,
        f"select {', '.join(columns)} from {found.table} where run = ? and id = ?",
        [found.run, found.id],
    )
    return {
        name: json.loads(value) if name in json_names and value is not None else value
        for name, value in zip(columns, row, strict=True)
    }


def trace(lake: DuckDBPyConnection, found: RecordInRun) -> Iterator[RecordInRun]:
    """What it was made from, what that was made from, and so on."""
    at = found
    while at.table in PARENTS:
        ((parent,),) = _fetch(
            lake,
            f"select {PARENTS[at.table]} from {at.table} where run = ? and id = ?",
            [at.run, at.id],
        )
        table = _table_of(parent or "")
        if not table or not _fetch(
            lake, f"select 1 from {table} where run = ? and id = ?", [at.run, parent]
        ):
            return
        at = RecordInRun(table, parent, at.run, (at.run,))
        yield at


def follow(lake: DuckDBPyConnection, found: RecordInRun) -> Iterator[Children]:
    """What was made from it, and what speaks of it, in the same run."""
    for table, parent in PARENTS.items():
        if table not in _LEDGERS:
            ids = [
                key
                for (key,) in _fetch(
                    lake,
                    f"select id from {table} where run = ? and {parent} = ? order by id",
                    [found.run, found.id],
                )
            ]
            if ids:
                yield Children(table, len(ids), tuple(ids[:_MOST]))


def _search(lake: DuckDBPyConnection, start: str, run: str) -> dict[tuple[str, str], list[str]]:
    """(table, id) → runs."""
    own = _table_of(start)
    tables: Sequence[str] = [own] if own else [table for table in TABLES if table not in _LEDGERS]
    asked = " union all ".join(
        f"select '{table}' as found, id, run from {table} where starts_with(id, $start)"
        for table in tables
    )
    rows = _fetch(
        lake,
        f"select * from ({asked}) where $run in ('', run) order by all",
        {"start": start, "run": run},
    )
    matches: dict[tuple[str, str], list[str]] = {}
    for table, key, where in rows:
        matches.setdefault((table, key), []).append(where)
    return matches


def _search_aside(
    lake: DuckDBPyConnection, start: str, run: str
) -> dict[tuple[str, str], list[str]]:
    """A row that was set aside is in quarantine alone; of several promises it broke the first is
    shown. A place whose scenario was never drafted has no row but what became of it."""
    quarantined = """select min(id), list(distinct run) from quarantine
                     where starts_with("row", $start) and $run in ('', run) group by "row" """
    ended = """select arg_max(id, try_number), list(distinct run) from attrition
               where subject = $start and gate = 'exit' and $run in ('', run) group by subject, stage"""
    values = {"start": start, "run": run}
    return {("quarantine", key): runs for key, runs in _fetch(lake, quarantined, values)} or {
        ("attrition", key): runs for key, runs in _fetch(lake, ended, values)
    }


def _sort_runs(lake: DuckDBPyConnection, runs: Sequence[str]) -> list[str]:
    started = dict(_fetch(lake, "select run, started from runs", []))
    return sorted(runs, key=lambda run: (started.get(run, ""), run))


def _fetch(lake: DuckDBPyConnection, question: str, values: Values) -> list[Row]:
    return lake.execute(question, values).fetchall()


def _table_of(key: str) -> str:
    return next(
        (table for table, record in TABLES.items() if key.startswith(f"{record.prefix}_")), ""
    )
