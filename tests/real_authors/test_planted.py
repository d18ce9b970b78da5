"""Faults planted in recorded texts: the counts on the page follow from the stored list and the
stored answers."""

import json

from envmill.gates.reading.calibrations import SHIPPED, read_cases
from tests.real_authors.planted import (
    READINGS,
    Count,
    count,
    count_side,
    estimate_share,
    name_case,
    read_decisions,
    read_planted,
)

LEAST = 60
CAUGHT_TODAY = 0.52
"""Estimated share of the planted faults that a gate notices and the judge confirms. It only goes
up."""


def test_each_shipped_case_has_two_answers_and_no_other_has() -> None:
    answers = json.loads(READINGS.read_text(encoding="utf-8"))
    assert set(answers) == {name_case(case) for case in read_cases(SHIPPED)}
    assert {len(both) for both in answers.values()} == {2}
    assert {one for both in answers.values() for one in both} <= {"yes", "no", "void"}


def test_readings_are_of_faults_that_are_listed() -> None:
    listed, decisions = read_planted(), read_decisions()
    counts = [count_side(listed, name, "planted", decisions) for name in listed]
    assert sum(one.texts for one in counts) >= LEAST
    assert all(one.confirmed <= one.read <= one.asked <= one.texts for one in counts)
    assert sum(one.read for one in counts) >= LEAST


def test_no_fewer_are_caught() -> None:
    listed, decisions = read_planted(), read_decisions()
    assert (
        estimate_share([count_side(listed, name, "planted", decisions) for name in listed])
        >= CAUGHT_TODAY
    )


def test_the_judge_confirms_no_honest_case() -> None:
    listed, decisions = read_planted(), read_decisions()
    assert sum(count_side(listed, name, "honest", decisions).confirmed for name in listed) == 0


def test_what_no_gate_notices_counts_as_planted_and_not_as_caught() -> None:
    found = count([["a"], ["b"], ["not read"], []], {"a": "confirmed", "b": "unconfirmed"})
    assert found == Count(texts=4, asked=3, read=2, confirmed=1)
    assert found.share == 3 / 4 * 1 / 2
    assert estimate_share([found, Count(texts=12, asked=0, read=0, confirmed=0)]) == 1.5 / 16
