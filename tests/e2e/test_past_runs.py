"""A home of many past runs: `envmill up` takes hardly longer than without them, and the server forgets the old ones."""

import sqlite3
import time
import uuid
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from envmill.lake.events import note
from envmill.lake.lake import Lake
from schemas.run import RunConfig
from tests.e2e.plant import Plant, wait_until
from tests.soak import count

MOST = 30.0
"""Seconds that `up` may take on a machine that does nothing else."""
SLOWER = 1.5
"""Times that it may take beside a home without past runs, where others use the machine."""
TASKS = 10
"""Task runs of a past run."""
RETENTION = timedelta(days=90)


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    plant = Plant.at(tmp_path / "home")
    try:
        plant.envmill("up")
        plant.envmill("down")
        yield plant
    finally:
        plant.envmill("down")


@pytest.mark.soak(area="operations")
def test_up_with_many_past_runs(plant: Plant) -> None:
    """Half of them ended before what the server keeps, and half within it."""
    runs = count(40, 10_000)
    before = _time_up(plant)
    plant.envmill("down")
    database = plant.home.prefect / "prefect.db"
    add_to_server(database, runs)
    add_to_lake(Lake(plant.home.settings.lake), runs)
    took = _time_up(plant)
    print(f"{runs} past runs: up took {took:.1f} s, {before:.1f} s without them")  # noqa: T201
    assert took <= MOST or took <= SLOWER * before
    wait_until(lambda: count_ended(database) == runs // 2, 900)
    with sqlite3.connect(database) as base:
        orphans = base.execute(
            "select count(*) from task_run where flow_run_id not in (select id from flow_run)"
        )
        assert orphans.fetchone() == (0,)
    assert len(Lake(plant.home.settings.lake).runs()) == runs, "the lake forgets none"


def _time_up(plant: Plant) -> float:
    began = time.monotonic()
    said = plant.envmill("up")
    assert "unchanged" in said, "deployments are made once"
    return time.monotonic() - began


def count_ended(database: Path) -> int:
    """Past runs in the server."""
    with sqlite3.connect(database) as base:
        return base.execute("select count(*) from flow_run where end_time is not null").fetchone()[
            0
        ]


def add_to_server(database: Path, runs: int) -> None:
    """Completed runs of the factory with their tasks and states, written as Prefect writes them; every second one is too old to keep."""
    with sqlite3.connect(database) as base:
        (flow,) = base.execute("select id from flow where name = 'factory'").fetchone()
        for number in range(runs):
            age = RETENTION + timedelta(days=10) if number % 2 else timedelta(days=1)
            ended = datetime.now(UTC) - age
            _add_run(base, flow, number, ended.strftime("%Y-%m-%d %H:%M:%S.%f"))


def _add_run(base: sqlite3.Connection, flow: str, number: int, ended: str) -> None:
    run, state = str(uuid.uuid4()), str(uuid.uuid4())
    _insert(
        base,
        "flow_run",
        id=run,
        name=f"past-{number}",
        flow_id=flow,
        state_type="COMPLETED",
        state_name="Completed",
        state_id=state,
        run_count=1,
        expected_start_time=ended,
        start_time=ended,
        end_time=ended,
        state_timestamp=ended,
        total_run_time="1970-01-01 00:00:01.000000",
    )
    _insert(
        base,
        "flow_run_state",
        id=state,
        type="COMPLETED",
        name="Completed",
        timestamp=ended,
        flow_run_id=run,
    )
    for place in range(TASKS):
        task, state = str(uuid.uuid4()), str(uuid.uuid4())
        _insert(
            base,
            "task_run",
            id=task,
            name=f"bucket-{place}",
            task_key="bucket",
            dynamic_key=f"bucket-{place}",
            flow_run_id=run,
            state_type="COMPLETED",
            state_name="Completed",
            state_id=state,
            run_count=1,
            start_time=ended,
            end_time=ended,
            state_timestamp=ended,
            total_run_time="1970-01-01 00:00:01.000000",
        )
        _insert(
            base,
            "task_run_state",
            id=state,
            type="COMPLETED",
            name="Completed",
            timestamp=ended,
            task_run_id=task,
        )


def _insert(base: sqlite3.Connection, table: str, **values: str | int) -> None:
    marks = ", ".join("?" * len(values))
    base.execute(f"insert into {table} ({', '.join(values)}) values ({marks})", [*values.values()])


def add_to_lake(lake: Lake, runs: int) -> None:
    """Finished runs as the lake knows them."""
    config = RunConfig().model_dump(mode="json")
    for number in range(runs):
        run = f"past-{number:05d}"
        lake.fix(run, "config", config)
        note(lake, run, "started", config)
        note(lake, run, "finished", [])
