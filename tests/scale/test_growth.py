"""A run's memory is bounded whatever its size, and nothing is lost on the way."""

import math
from itertools import pairwise
from pathlib import Path

import pytest

from tests.bench.crowd import simulate
from tests.bench.scale import add_up, run_alone
from tests.bench.scale_curve import SVG, read_measured, render
from tests.soak import count

MOST = 2048.0
"""MB of one process."""
STEEPEST = 1.1
"""Exponent of the processor time of a process over the size of a run."""


@pytest.mark.long
@pytest.mark.soak(area="scale")
def test_a_run_of_many_scenarios_stays_below_two_gigabytes(tmp_path: Path) -> None:
    """Under `make test` 8 scenarios, which show that the measurement runs; in full 20,000, beside 1,000."""
    scenarios = count(8, 20_000)
    found = run_alone("growth", scenarios, tmp_path)
    peaks = {name: told["peak"] for name, told in found["parts"].items()}
    assert max(peaks.values()) <= MOST, peaks
    outcomes = found["outcomes"]
    for step, told in outcomes.items():
        assert told["entered"] == told["kept"] + told["dropped"], f"{step} lost some"
    for before, step in pairwise(outcomes):
        if before.split("-")[0] == step.split("-")[0] and step != "scenarios-export":
            assert outcomes[step]["entered"] == outcomes[before]["kept"], f"lost before {step}"
    assert outcomes["scenarios-generate"]["entered"] >= scenarios, "fewer than were to be measured"
    assert outcomes["scenarios-export"]["kept"] == 1
    if few := count(0, 1_000):
        own = [add_up(one, "own") for one in (run_alone("growth", few, tmp_path / "few"), found)]
        assert math.log(own[1] / own[0]) / math.log(scenarios / few) <= STEEPEST, own


def test_the_curve_of_the_page_is_the_one_that_was_measured() -> None:
    runs = read_measured()
    assert SVG.read_text(encoding="utf-8") == render(runs)
    peaks = [part["peak"] for run in runs for part in run["parts"].values()]
    assert max(peaks) <= MOST, "the page says that no part took more"


async def test_the_scheduler_settles_every_item_of_its_simulation(tmp_path: Path) -> None:
    found = await simulate(700, tmp_path, {})
    assert (found["items"], found["files"]) == (700, 40)
