"""Views over up to a hundred million attrition rows: runs as compaction leaves them, made by DuckDB and
not by a factory, which would take days.

template of ids ─► one Parquet file of attrition a run ─► compaction ─► rollups ─► each view, timed
"""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from envmill.base.settings import ROOT
from envmill.lake.arrow import arrow_schema
from envmill.lake.compaction import compact
from envmill.lake.events import note
from envmill.lake.files import BatchName, file_name
from envmill.lake.lake import Lake
from envmill.lake.reading import encode
from envmill.lake.settled import write_index
from envmill.lake.sql import ask
from envmill.lake.views import VIEWS, open_views
from envmill.lake.views.source import column_types
from schemas.ledger import Attrition
from schemas.shapes import version_of

RUNS, SUBJECTS = 10, 25_000
"""Runs of so many scenarios, with forty rows a scenario. `python -m tests.bench.settled 100` is the hundred million."""
GATES = ("S1", "S2", "S3", "S4", "S5", "S6", "S7", "exit")
STEPS = ("generate", "build", "verify", "filter", "collect")
RUN_ROWS = SUBJECTS * len(STEPS) * len(GATES)
COUNTS = {
    "exits": "select run, outcome, count(*) from exits group by all",
    "tiers": "select run, tier, count(*) from tiers group by all",
}
"""What is asked of views that have a row for each subject."""
ROUNDS = 3
MANY = 2_000
"""Settled runs of a lake whose opening is measured. `python -m tests.bench.settled opening 10000` takes more."""
_SQLS = {name: view.sql for name, view in VIEWS.items()}


def measure_settled(place: Path, runs: int = RUNS) -> Iterator[dict[str, Any]]:
    """The slowest view and opening, beside a sum over the table."""
    lake = Lake(place)
    for number in range(runs):
        fill(lake, f"r{number:04d}", number)
        compact(lake, f"r{number:04d}")
    rows = f"{runs * RUN_ROWS:,} attrition rows of {runs} settled runs"
    seconds = {view: _median(lambda view=view: _answer(lake, view)) for view in VIEWS}
    slowest = max(seconds, key=lambda view: seconds[view])
    with open_views(lake, question="from attrition") as connection:
        summed = _median(
            lambda: connection.execute("select count(*), sum(cost) from attrition").fetchall()
        )
    yield {
        "id": "settled_view",
        "what": f"slowest view ({slowest}), opening included, over {rows}, beside a sum over the table",
        "measured": seconds[slowest],
        "baseline": summed,
        "unit": "s",
    }
    opened = _median(lambda: open_views(lake, question="from funnel").close())
    yield {
        "id": "settled_open",
        "what": f"opening for one view over {rows}",
        "measured": opened,
        "unit": "s",
    }


def measure_opening(place: Path, runs: int = MANY) -> Iterator[dict[str, Any]]:
    """What opening a question costs over many settled runs, with their index beside without it, which lists every one."""
    lake = Lake(place)
    fill(lake, "r0000", 0, 1000)
    compact(lake, "r0000")
    for number in range(1, runs):
        copy_run(place, "r0000", f"r{number:04d}")
    made = write_index(lake, _SQLS, settling=0.0)
    assert made == runs, made
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("envmill.lake.views.opening.find_settled", lambda *_: {})
        listing = _spend(lake)
    for question, seconds in _spend(lake).items():
        yield {
            "id": f"settled_index_{question}",
            "what": f"processor time of opening for `{question}` over {runs:,} settled runs, by their index, beside listing them",
            "measured": seconds,
            "baseline": listing[question],
            "unit": "s",
        }
    yield {
        "id": "settled_index_asked",
        "what": f"processor time of `funnel` over {runs:,} settled runs, asked and read",
        "measured": _median(lambda: _answer(lake, "funnel"), time.process_time),
        "unit": "s",
    }


def _spend(lake: Lake) -> dict[str, float]:
    def open_for(question: str) -> float:
        return _median(
            lambda: open_views(lake, question=f"from {question}").close(), time.process_time
        )

    return {question: open_for(question) for question in ("funnel", "scenarios")}


def copy_run(place: Path, run: str, name: str) -> None:
    """The same run under another name, its files hard links. Rows name the first; opening does not read them."""
    for folder in place.glob(f"*/run={run}"):
        other = folder.with_name(f"run={name}")
        other.mkdir()
        for path in folder.iterdir():
            (other / path.name).hardlink_to(path)
    (place / f"_runs/{name}.json").hardlink_to(place / f"_runs/{run}.json")


def fill(lake: Lake, run: str, seed: int, rows: int = RUN_ROWS) -> None:
    """A finished run: every subject at every gate of every step, ids as random as hashes are."""
    note(lake, run, "started", {})
    batch = BatchName("scenarios-verify", 0, "f" * 8, 1)
    values = {
        "schema_version": str(version_of(Attrition)),
        "id": "'att_' || left(md5(concat('i', seed, number)), 20)",
        "lap": "'scenarios'",
        "stage": f"{list(STEPS)}[1 + (number // {len(GATES)}) % {len(STEPS)}]",
        "gate": f"{list(GATES)}[1 + number % {len(GATES)}]",
        "subject": f"'scn_' || left(md5(concat('s', seed, number // {len(GATES) * len(STEPS)})), 20)",
        "parent": f"'env_' || left(md5(concat('e', seed, number // {len(GATES) * len(STEPS) * 8})), 20)",
        "try_number": "1",
        "outcome": "if(number % 31 = 0, 'dropped', 'kept')",
        "reason": "if(number % 31 = 0, concat('reason_', number % 7), '')",
        "detail": "if(number % 31 = 0, 'the oracle replays otherwise', '')",
        "evidence": "''",
        "children": "1",
        "recipe": "'envscaler'",
        "theme": "concat('theme_', number // 320 % 40)",
        "seconds": "number % 97 / 10",
        "tokens": "number % 5000",
        "cost": "number % 13 / 100",
        "run": f"'{run}'",
        "step": "'scenarios-' || stage",
        "fingerprint": f"'{'f' * 20}'",
        "bucket": "0",
        "code_version": "'0.2.0'",
        "written_at": "'2026-01-01T00:00:00+00:00'",
    }
    columns = ", ".join(
        f"({values[name]})::{kind} as {name}" for name, kind in column_types(Attrition).items()
    )
    with duckdb.connect() as connection:
        numbers = f"(select range as number, {seed} as seed from range({rows}))"
        table = connection.sql(f"select {columns} from {numbers}").to_arrow_table()
    lake.store.put_if_absent(
        file_name("attrition", run, batch.commit), encode(table.cast(arrow_schema(Attrition)))
    )
    note(lake, run, "finished", {})


def _answer(lake: Lake, view: str) -> None:
    """As `envmill sql` does: opened for this question."""
    question = COUNTS.get(view, f'select * from "{view}"')
    with ask(lake, question) as answer:
        for _ in answer.rows():
            pass


def _median(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    """The first round warms caches and is not counted."""
    seconds: list[float] = []
    for _ in range(ROUNDS + 1):
        start = clock()
        work()
        seconds.append(clock() - start)
    return statistics.median(seconds[1:])


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=ROOT / "data") as folder:
        opening = sys.argv[1:2] == ["opening"]
        measure, given = (
            (measure_opening, sys.argv[2:]) if opening else (measure_settled, sys.argv[1:])
        )
        for row in measure(Path(folder), *(int(word) for word in given)):
            sys.stdout.write(json.dumps(row) + "\n")
