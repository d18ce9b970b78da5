"""The correction: what is known of the judge is taken off, and the interval holds the truth as
often as it says."""

import random

import pytest

from envmill.gates.error_corrected_rate import Proportion, correct


@pytest.mark.parametrize(
    ("flagged", "caught", "alarms", "share"),
    [
        pytest.param((10, 100), (20, 20), (0, 20), 0.1, id="a-judge-without-error"),
        pytest.param((10, 100), (10, 20), (0, 20), 0.2, id="half-of-the-faults-seen"),
        pytest.param((10, 100), (20, 20), (2, 20), 0.0, id="all-of-it-false-alarms"),
        pytest.param((28, 100), (16, 20), (2, 20), (0.28 - 0.1) / 0.7, id="both-errors"),
        pytest.param((0, 100), (15, 20), (5, 20), 0.0, id="never-below-nothing"),
        pytest.param((100, 100), (15, 20), (5, 20), 1.0, id="never-above-all"),
    ],
)
def test_the_errors_of_the_judge_are_taken_off(
    flagged: tuple[int, int], caught: tuple[int, int], alarms: tuple[int, int], share: float
) -> None:
    found = correct(Proportion(*flagged), Proportion(*caught), Proportion(*alarms))
    assert found.share == pytest.approx(share)
    assert 0 <= found.low <= found.high <= 1


def test_a_judge_who_guesses_is_refused() -> None:
    with pytest.raises(ValueError, match="tells nothing"):
        correct(Proportion(10, 100), Proportion(5, 20), Proportion(5, 20))


@pytest.mark.parametrize("share", [0.02, 0.1, 0.2, 0.4])
def test_the_interval_holds_the_truth_nineteen_times_of_twenty(share: float) -> None:
    dice, sensitivity, false, held = random.Random(share), 0.85, 0.08, 0
    draw = lambda n, chance: Proportion(sum(dice.random() < chance for _ in range(n)), n)  # noqa: E731
    for _ in range(600):
        flagged = draw(80, share * sensitivity + (1 - share) * false)
        found = correct(flagged, draw(20, sensitivity), draw(20, false))
        held += found.low <= share <= found.high
    assert held >= 0.93 * 600
