"""A home of many past runs: `envmill up` takes hardly longer than without them, and the server forgets the old ones."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.past import PastRuns
from tests.e2e.plant import ASKING, Plant, wait_until
from tests.soak import count

MOST = 30.0
"""Seconds that `up` may take on a machine that does nothing else."""
SLOWER = 1.5
"""Times that it may take beside a home without past runs, where others use the machine."""
RUNS = count(0, 10_000)

pytestmark = [
    pytest.mark.soak(area="operations"),
    pytest.mark.skipif(
        RUNS == 0,
        reason="three starts of a server; test_operations.py has few runs: `make soak AREA=operations`",
    ),
]


@pytest.fixture
def plant(tmp_path: Path) -> Iterator[Plant]:
    plant = Plant.at(tmp_path / "home")
    try:
        plant.envmill("up")
        plant.envmill("down")
        yield plant
    finally:
        plant.envmill("down")


def test_up_with_many_past_runs(plant: Plant) -> None:
    before = _time_up(plant)
    plant.envmill("down")
    past = PastRuns.add(plant.home, RUNS)
    took = _time_up(plant)
    print(f"{RUNS} past runs: up took {took:.1f} s, {before:.1f} s without them")  # noqa: T201
    assert took <= MOST or took <= SLOWER * before
    wait_until(past.are_forgotten, 900, pace=ASKING)


def _time_up(plant: Plant) -> float:
    began = time.monotonic()
    said = plant.envmill("up")
    assert "unchanged" in said, "deployments are made once"
    return time.monotonic() - began
