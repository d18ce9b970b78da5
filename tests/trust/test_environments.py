"""Environments at scale: honest work goes through every gate, planted faults do not; reduced in the
suite, in full as a soak."""

import asyncio
import sys

import pytest

from envmill.gates.base import Finding
from tests.soak import count
from tests.trust.confusion import HEAD, Row, measure_environments, render_row
from tests.trust.jobs import READERS

QUICK = ("none", "missing_import", "change_before_check", "untested_tool")


@pytest.mark.soak(area="trust")
def test_honest_environments_are_kept_and_faulty_ones_are_not() -> None:
    rows = asyncio.run(measure_environments(count(1, 60), 11, count(1, 0) * QUICK))
    sys.stdout.write(HEAD + "".join(map(render_row, rows)))
    honest = next(row for row in rows if row.kind == "none")
    planted = [
        row
        for row in rows
        if row.kind != "none" and not row.kind.startswith("ast ") and row.kind not in READERS
    ]
    tried, kept = sum(row.tried for row in planted), sum(row.kept for row in planted)
    assert honest.kept >= 0.97 * honest.tried, honest.examples
    assert tried
    assert kept <= 0.05 * tried, [row.examples for row in planted if row.kept]


def test_a_row_counts_what_was_kept_and_bounds_the_rest_from_below() -> None:
    row = Row("kind")
    row.note(
        "here/0", [Finding("W3", "dropped", "test_failed"), Finding("W6", "dropped", "crashes")]
    )
    row.note("here/1", [])
    assert (row.tried, row.kept, row.rate) == (2, 1, 0.5)
    assert 0 < row.low < 0.5
    assert dict(row.caught) == {"W3 test_failed": 1, "W6 crashes": 1}
