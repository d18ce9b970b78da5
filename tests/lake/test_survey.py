"""Promises are judged on an object store as on a disk: rows are set aside there, and readers no
longer see them."""

import pytest

from envmill.lake.arrow import Stamp
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.pipeline.line import STEP
from quality.survey import survey
from schemas.quality import Quarantine
from schemas.scenario import Scenario
from tasks.breaches import group_rows
from tasks.rows import open_rows
from tests.quality.specimen import FINGERPRINTS, TIME, make_line

PLACES = pytest.mark.parametrize("place", ["file", "s3"], indirect=True)


def broken_in(lake: Lake) -> dict[str, list[Quarantine]]:
    """Rows that break a promise, as quarantine would hold them."""
    with open_rows(lake, "r1") as connection:
        found = survey(connection, FINGERPRINTS, tuple(STEP))
    return group_rows([one for one in found.breaches if one.severity == "row"])


@pytest.mark.long
@PLACES
def test_a_run_is_surveyed_where_it_lies(place: str) -> None:
    lake, line = Lake(place), make_line()
    line.write(lake, "r1")
    assert broken_in(lake) == {}
    (scenario,) = line.all(Scenario)
    worse = scenario.model_copy(update={"oracle_reward": 2.0})
    assert lake.publish(
        [worse],
        [],
        Stamp("r1", "scenarios-build", FINGERPRINTS["scenarios-build"], 0, 2, "0", TIME),
    )
    rows = [row for found in broken_in(lake).values() for row in found]
    assert ("scenarios", scenario.id, "oracle_reward_bounded") in {
        (row.table_name, row.row, row.promise) for row in rows
    }
    lake.put(Quarantine, rows, "quality-x", Stamp("r1", "quality", "", 0, 1, "0", TIME))
    assert fetch(lake, "select count(*) from scenarios") == [(0,)]
    assert all(row.table_name != "scenarios" for found in broken_in(lake).values() for row in found)
