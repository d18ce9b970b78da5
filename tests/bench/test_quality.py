"""The run that the bench judges keeps every promise, however often it is copied."""

from pathlib import Path

from envmill.lake.lake import Lake
from tests.bench.quality import look, multiply_run
from tests.quality.specimen import make_line


def test_copies_of_a_run_keep_its_promises(tmp_path: Path) -> None:
    small, large = Lake(tmp_path / "small"), Lake(tmp_path / "large")
    make_line().write(small, "r1")
    assert multiply_run(small, large, 3) > 100
    assert look(large).breaches == ()
