"""A lake, and the question what is broken in a run of it."""

from collections.abc import Collection, Sequence
from pathlib import Path

import pytest

from envmill.lake.lake import Lake
from envmill.pipeline.line import STEP
from quality.survey import Survey, survey
from tasks.rows import open_rows
from tests.quality.specimen import FINGERPRINTS


@pytest.fixture
def lake(tmp_path: Path) -> Lake:
    return Lake(tmp_path / "lake")


def survey_run(
    lake: Lake,
    run: str = "r1",
    steps: Sequence[str] = tuple(STEP),
    tables: Collection[str] | None = None,
) -> Survey:
    with open_rows(lake, run) as connection:
        return survey(connection, FINGERPRINTS, steps, tables)
