"""A run's memory is bounded whatever its size, and nothing is lost on the way."""

from pathlib import Path

import pytest

from envmill.lake.lake import Lake
from tests.bench.crowd import simulate
from tests.bench.growth import RUN
from tests.bench.scale import run_alone
from tests.soak import count

MOST = 2048.0
"""MB of one process."""


@pytest.mark.soak(area="scale")
def test_a_run_of_many_scenarios_stays_below_two_gigabytes(tmp_path: Path) -> None:
    """Under `make test` 16 scenarios, which show that the measurement runs; in full 20,000."""
    scenarios = count(16, 20_000)
    found = run_alone("growth", scenarios, tmp_path)
    peaks = {name: told["peak"] for name, told in found["parts"].items()}
    assert max(peaks.values()) <= MOST, peaks
    lake = Lake(tmp_path / "lake")
    config = lake.find_fixed(RUN, "config")
    assert config is not None
    assert config["environments"] * config["scenarios"] >= scenarios
    for step, told in found["outcomes"].items():
        assert told["entered"] == told["kept"] + told["dropped"], f"{step} lost some"
    assert found["outcomes"]["scenarios-generate"]["entered"] > 0


async def test_the_scheduler_settles_every_item_of_its_simulation(tmp_path: Path) -> None:
    found = await simulate(700, tmp_path, {})
    assert (found["items"], found["files"]) == (700, 40)
