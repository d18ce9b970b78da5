"""What each view says of the example lake, counted by hand."""

import math
from fractions import Fraction
from typing import Any

import pytest

from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.lake.views.trainability import GROUP
from tests.lake.views.example import EASY, FIRST, HARD, SECOND


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        pytest.param(
            "select run, state, starts, provider from runs",
            [(FIRST, "finished", 1, "offline"), (SECOND, "started", 2, "offline")],
            id="runs",
        ),
        pytest.param(
            f"select outcome, attempts, tokens, cost, unpriced from exits where run = '{SECOND}' and subject = 'seed_2'",
            [("kept", 2, 140, 0.03, 0)],
            id="an outcome is the latest, its cost the sum",
        ),
        pytest.param(
            f"select entered, kept, error, made, tokens, cost, unpriced from funnel where run = '{SECOND}' and stage = 'generate'",
            [(3, 3, 0, 3, 340, None, 1)],
            id="one unknown price makes a cost unknown",
        ),
        pytest.param(
            f"select entered, kept, dropped, error, cost, unpriced from funnel where run = '{FIRST}' and stage = 'verify'",
            [(2, 1, 1, 0, 0.0, 0)],
            id="funnel",
        ),
        pytest.param(
            f"select theme, lap, entered, kept, share from yield where run = '{FIRST}'",
            [("tool_lending", "environments", 2, 1, 0.5), ("tool_lending", "scenarios", 3, 2, 2 / 3)],
            id="yield",
        ),
        pytest.param(
            "select theme, policy, rollout_group, attempts, passed, errors, pass_rate, scenarios from pass_rate",
            [("tool_lending", "careless", "probe", 12, 5, 1, 5 / 11, 3), ("tool_lending", "reference", "teacher", 3, 2, 1, 1.0, 2)],
            id="errors do not lower a pass rate",
        ),
        pytest.param(
            f"select theme, item, kept, tokens, round(cost_per_kept, 6) from cost_per_kept where run = '{FIRST}'",
            [
                ("clinic", "environment", 0, 0, None),
                ("tool_lending", "environment", 1, 400, 0.08),
                ("tool_lending", "scenario", 2, 300, 0.03),
                ("tool_lending", "trajectory", 2, 0, 0.0),
            ],
            id="cost per kept",
        ),
        pytest.param(
            f"select repair, outcome, fault, versions, unchanged from repairs where run = '{FIRST}'",
            [(0, "built", "none", 1, 0), (0, "failed", "code", 1, 0), (1, "failed", "code", 1, 1), (2, "built", "none", 1, 0)],
            id="repairs",
        ),
        pytest.param(
            "select scenario, outcome, reason, false_accept, false_accept_n, false_reject, false_reject_n from bounds order by outcome",
            [(EASY.id, "kept", "", 0.0482, 60, 0.2589, 10), (HARD.id, "not_measured", "no_truth", None, None, None, None)],
            id="bounds",
        ),
        pytest.param(
            f"select attempts, passes, errors, pass_rate from trainability where policy = 'careless' and scenario = '{HARD.id}'",
            [(3, 1, 1, 1 / 3)],
            id="trainability",
        ),
        pytest.param(
            "select run, stage, outcome, reason, gate, subjects from failures",
            [
                (FIRST, "verify", "dropped", "test_fails", "W3", 1),
                (FIRST, "filter", "dropped", "unsolved", "F1", 1),
                (SECOND, "build", "error", "sandboxerror", "", 1),
            ],
            id="failures",
        ),
    ],
)
def test_a_view_counts_right(example: Lake, question: str, answer: list[Any]) -> None:
    assert fetch(example, question) == answer


def test_trainability_is_the_exact_chance_of_a_mixed_group(example: Lake) -> None:
    found = fetch(example, "select attempts, passes, trainable from trainability where attempts > 0")
    assert (4, 4) in {(attempts, passes) for attempts, passes, _ in found}
    for attempts, passes, trainable in found:
        exact = 1 - _mean_power(passes, attempts) - _mean_power(attempts - passes, attempts)
        assert math.isclose(trainable, exact, rel_tol=1e-9)


def _mean_power(wins: int, attempts: int) -> Fraction:
    """Mean of p^GROUP under Beta(wins + 1, attempts - wins + 1)."""
    return Fraction(math.prod(wins + 1 + i for i in range(GROUP)), math.prod(attempts + 2 + i for i in range(GROUP)))


def test_a_scenario_that_was_never_judged_has_the_prior(example: Lake) -> None:
    found = fetch(example, f"select trainable from trainability where policy = 'reference' and scenario = '{HARD.id}'")
    assert found == [(pytest.approx(1 - 2 / (GROUP + 1)),)]
    assert EASY.id != HARD.id
