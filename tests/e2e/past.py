"""Past runs of a home, as its server and its lake keep them."""

import sqlite3
import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

from envmill.lake.events import note
from envmill.lake.lake import Lake
from flows.local.home import Home
from schemas.run import RunConfig

TASKS = 10
"""Task runs of a past run."""
RETENTION = timedelta(days=90)


@dataclass(frozen=True)
class PastRuns:
    """Completed runs. Half of them ended before what the server keeps, and half within it."""

    home: Home
    runs: int

    @classmethod
    def add(cls, home: Home, runs: int) -> "PastRuns":
        """While no server runs."""
        _add_to_server(_find_database(home), runs)
        _add_to_lake(Lake(home.settings.lake), runs)
        return cls(home, runs)

    def are_forgotten(self) -> bool:
        """Whether the server has no more of them than it keeps, and no tasks of others. The lake
        keeps all."""
        with sqlite3.connect(_find_database(self.home)) as base:
            known = base.execute("select count(*) from flow_run where name like 'past-%'")
            orphans = base.execute(
                "select count(*) from task_run where flow_run_id not in (select id from flow_run)"
            )
            left = known.fetchone()[0], orphans.fetchone()[0]
        in_lake = [run for run in Lake(self.home.settings.lake).runs() if run.startswith("past-")]
        assert len(in_lake) == self.runs
        return left == (self.runs // 2, 0)


def _find_database(home: Home) -> Path:
    return home.prefect / "prefect.db"


def _add_to_server(database: Path, runs: int) -> None:
    """Completed runs of the factory with their tasks and states, written as Prefect writes them; every second one is too old to keep."""
    with sqlite3.connect(database) as base:
        (flow,) = base.execute("select id from flow where name = 'factory'").fetchone()
        for number in range(runs):
            age = RETENTION + timedelta(days=10) if number % 2 else timedelta(days=1)
            ended = datetime.now(UTC) - age
            _add_run(base, flow, number, ended.strftime("%Y-%m-%d %H:%M:%S.%f"))


def _add_run(base: sqlite3.Connection, flow: str, number: int, ended: str) -> None:
    named = {"name": f"past-{number}", "flow_id": flow, "expected_start_time": ended}
    run = _add_ended(base, "flow_run", ended, **named)
    for place in range(TASKS):
        named = {"name": f"bucket-{place}", "dynamic_key": f"bucket-{place}"}
        _add_ended(base, "task_run", ended, **named, task_key="bucket", flow_run_id=run)


def _add_ended(base: sqlite3.Connection, table: str, ended: str, **named: str) -> str:
    """A run of a flow or a task that completed then, with its last state; returns its id."""
    run, state = str(uuid.uuid4()), str(uuid.uuid4())
    _insert(
        base,
        table,
        **named,
        id=run,
        state_type="COMPLETED",
        state_name="Completed",
        state_id=state,
        run_count=1,
        start_time=ended,
        end_time=ended,
        state_timestamp=ended,
        total_run_time="1970-01-01 00:00:01.000000",
    )
    told = {"id": state, "type": "COMPLETED", "name": "Completed", "timestamp": ended}
    _insert(base, f"{table}_state", **told, **{f"{table}_id": run})
    return run


def _insert(base: sqlite3.Connection, table: str, **values: str | int) -> None:
    marks = ", ".join("?" * len(values))
    base.execute(f"insert into {table} ({', '.join(values)}) values ({marks})", [*values.values()])


def _add_to_lake(lake: Lake, runs: int) -> None:
    """Finished runs as the lake knows them."""
    config = RunConfig().model_dump(mode="json")
    for number in range(runs):
        run = f"past-{number:05d}"
        lake.fix(run, "config", config)
        note(lake, run, "started", config)
        note(lake, run, "finished", [])
