"""The number of a run: asked for, taken from the day, or none."""

from datetime import UTC, datetime

import pytest

from schemas.run import RunConfig

DAY = datetime(2026, 11, 21, 23, 59, tzinfo=UTC)


@pytest.mark.parametrize(("asked", "number"), [(7, 7), (0, 0), (None, 20261121)])
def test_a_run_without_a_number_takes_the_day(asked: int | None, number: int) -> None:
    assert RunConfig(seed=asked).opened_on(DAY).run_seed == number


def test_a_bare_run_without_a_number_has_one_too() -> None:
    assert RunConfig().run_seed == 0


def test_the_number_is_stored_by_its_first_name() -> None:
    """Lakes hold configs, and fingerprints of steps hash the field."""
    stored = RunConfig(seed=7).model_dump(mode="json")
    assert stored["seed"] == 7
    assert "run_seed" not in stored
    assert RunConfig.model_validate(stored).run_seed == 7
