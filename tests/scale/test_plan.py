"""The plan of a night multiplies unit costs and invents nothing."""

import pytest

from tests.bench.plan import Night, UnitCosts, plan

UNITS = UnitCosts(
    calls=10, sent=40_000, got=4_000, own=0.5, jails=3.6, rows=40, files=1, bytes=30_000, peak=800, kept=0.8
)  # fmt: skip


def test_a_night_of_ten_thousand() -> None:
    found = plan(UNITS, 10_000, Night(hours=8, call_seconds=20, price_in=1.0, price_out=5.0))
    assert found["calls"] == 100_000
    assert found["calls in flight"] == pytest.approx(100_000 * 20 / 28_800)
    assert found["tokens in, millions"] == pytest.approx(100)
    assert found["money"] == pytest.approx(100 * 1.0 + 10 * 5.0)
    assert found["cores for jails"] == pytest.approx(36_000 / 28_800 / 0.7)
    assert found["flow processes"] == 2, "70 calls in flight are more than one process keeps"
    assert (found["runs"], found["server rows of task runs"]) == (2, 800)


def test_twice_the_hours_halve_what_runs_at_once_and_not_the_money() -> None:
    day, night = (plan(UNITS, 100_000, Night(hours=hours, price_in=1.0)) for hours in (16, 8))
    assert day["cores for jails"] == pytest.approx(night["cores for jails"] / 2)
    assert day["money"] == night["money"] > 0
