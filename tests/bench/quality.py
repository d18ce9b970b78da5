"""Judging a million rows: the SQL of every promise and the suites, beside reading every key once;
and what suites cost a night."""

import asyncio
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb

from envmill.base.settings import ROOT
from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP
from quality.gate import judge
from quality.survey import Survey, survey
from schemas.run import RunConfig
from schemas.shapes import version_of
from schemas.tables import TABLES
from tasks.rows import open_rows
from tests.bench.whole import measure_run
from tests.quality.specimen import FINGERPRINTS, make_line

ENVIRONMENTS, SCENARIOS, MADE = 20, 6, 2
"""Of a night; so many of its environments are made, and their time is multiplied."""
_NIGHT = (
    f"great-expectations and pandas over a night of {ENVIRONMENTS} environments with {SCENARIOS} "
    "scenarios, beside making it"
)
_JUDGING = f"""import time
from tests.quality.nights import draw_night
from quality.nights.drift import NIGHTS, bound, measure
from quality.nights.suites import run_suites
tonight, nights = (draw_night(seed, {ENVIRONMENTS}, {SCENARIOS}) for seed in (0, 1))
run_suites("r1", tonight, bound(measure(tonight), [measure(nights)] * NIGHTS))
print(time.process_time())
"""

COPIES, ROUNDS = 30_500, 5  # a specimen run has 33 rows: a million in all

_REFERENCES = {
    "blueprints": ("id",), "environments": ("id", "blueprint"), "builds": ("id", "subject"), "tests": ("id", "environment"),
    "drafts": ("id", "environment"), "scenarios": ("id", "environment", "draft"), "rollouts": ("id", "scenario", "environment"),
    "trajectories": ("id", "rollout", "scenario", "environment"), "attrition": ("id", "subject", "evidence"),
    "gate_evidence": ("id", "subject"), "model_calls": ("id", "subject"), "seeds": ("id",), "attacks": ("id", "scenario", "environment"),
    "errands": ("id", "environment"), "pairs": ("id", "scenario", "environment", "chosen", "rejected"),
}  # fmt: skip
"""Columns that name a row; each copy names its own."""

_TEXTS = {
    (
        "blueprints",
        "origin",
    ): """regexp_replace(origin, '"seed":"([a-z0-9_]+)"', '"seed":"\\1-' || k || '"')""",
    (
        "rollouts",
        "transcript",
    ): """'["' || repeat(md5(k::varchar), 60) || '"]'""",  # 2 KB, as a short rollout has
    (
        "trajectories",
        "messages",
    ): """'["' || repeat(md5(k::varchar), 30) || '","' || repeat(md5(k::varchar), 30) || '"]'""",
}
"""Columns that differ in each copy."""


def rows() -> list[dict[str, Any]]:
    """Medians of one process; the first round imports, and is not counted."""
    folder = Path(tempfile.mkdtemp(prefix="envmill-bench-"))
    try:
        small, large = Lake(folder / "small"), Lake(folder / "large")
        make_line().write(small, "r1")
        count = multiply_run(small, large)
        found = look(large)
        assert found.breaches == (), found.breaches[:3]
        judge(found.tallies)
        keys = _median(lambda: _read_keys(large))
        sql, suites = _median(lambda: look(large)), _median(lambda: judge(found.tallies))
        step = _median(lambda: look(small, ["scenarios-build"]))
        bare = _median(lambda: _read_keys(small))
        what = f"every promise over {count:,} rows"
        return [
            _row(
                "million_rows",
                f"{what}, suites included, beside counting every key",
                sql + suites,
                keys,
            ),
            _row("sql", f"{what}, SQL alone", sql, keys),
            _row(
                "suites",
                f"{len(found.tallies)} promises in {len(TABLES)} suites, after import",
                suites,
                None,
            ),
            _row("step", "a small step's own check, beside counting every key", step, bare),
            _row("night", _NIGHT, _judge_drawn_night(), _make_environments() * ENVIRONMENTS / MADE),
        ]
    finally:
        shutil.rmtree(folder)


def _judge_drawn_night() -> float:
    """Processor seconds of a process of its own: imports are most of them."""
    done = subprocess.run(
        [sys.executable, "-c", _JUDGING], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return float(done.stdout.split()[-1])


def _make_environments() -> float:
    """Processor seconds of a run of the embedded author, from seed to export. A model takes
    more."""
    found = asyncio.run(
        measure_run(RunConfig(recipe="envfactory", seed=1, environments=MADE, scenarios=SCENARIOS))
    )
    return float(found["processor"])


def look(lake: Lake, steps: list[str] | None = None) -> Survey:
    tables = (
        {"attrition", "gate_evidence", *(table for step in steps for table in STEP[step].makes)}
        if steps
        else None
    )
    with open_rows(lake, "r1") as connection:
        return survey(connection, FINGERPRINTS, steps or list(STEP), tables)


def _read_keys(lake: Lake) -> None:
    with open_rows(lake, "r1") as connection:
        for table in TABLES:
            connection.execute(f"select count(*), count(distinct id) from raw_{table}").fetchall()


def multiply_run(small: Lake, large: Lake, most: int = COPIES) -> int:
    """The specimen run many times over, in one run; what belongs to a whole run is copied once."""
    total = 0
    for table in TABLES:
        files = ", ".join(f"'{file}'" for file in small.files(table, "r1"))
        folder = Path(large.url) / table / "run=r1"
        folder.mkdir(parents=True)
        copies = most if table in _REFERENCES else 1
        replaced = [f"{_rename(column)} as {column}" for column in _REFERENCES.get(table, ())] or [
            "id as id"
        ]
        replaced += [
            f"{text} as {column}" for (where, column), text in _TEXTS.items() if where == table
        ]
        total += _copy(files, copies, ", ".join(replaced), table, folder / "all.parquet")
    return total


def _rename(column: str) -> str:
    return f"""case when {column} = '' or {column} like 'run:%' then {column}
                    when {column} like '%:%' then replace({column}, ':', '-' || k || ':') else {column} || '-' || k end"""


def _copy(files: str, copies: int, replaced: str, table: str, target: Path) -> int:
    once = (
        "where k = 0 or step <> 'scenarios-export'"
        if table in ("attrition", "gate_evidence")
        else ""
    )
    question = f"""select * exclude (k) replace ({replaced})
                   from read_parquet([{files}], hive_partitioning = false), range({copies}) copies(k) {once}"""
    with duckdb.connect() as connection:
        said = f"{{schema_version: '{version_of(TABLES[table])}', \"table\": '{table}'}}"
        connection.execute(
            f"copy ({question}) to '{target}' (compression zstd, kv_metadata {said})"
        )
        found = connection.execute(f"select count(*) from '{target}'").fetchone()
    return found[0] if found else 0


def _median(work: Callable[[], object]) -> float:
    seconds: list[float] = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return sorted(seconds)[ROUNDS // 2]


def _row(name: str, what: str, measured: float, baseline: float | None) -> dict[str, Any]:
    return {"id": name, "what": what, "measured": measured, "baseline": baseline, "unit": "s"}
