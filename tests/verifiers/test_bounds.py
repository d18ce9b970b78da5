"""Bounds: exact limits against the binomial tail, and what is counted."""

from math import comb

import pytest

from envmill.verifiers.bounds import bound_errors, limit_share


@pytest.mark.parametrize(
    ("errors", "trials"), [(0, 1), (0, 60), (1, 60), (7, 20), (19, 20), (3, 200)]
)
def test_at_the_limit_so_few_errors_come_once_in_twenty_times(errors: int, trials: int) -> None:
    share = limit_share(errors, trials)
    tail = sum(comb(trials, k) * share**k * (1 - share) ** (trials - k) for k in range(errors + 1))
    assert tail == pytest.approx(0.05)


@pytest.mark.parametrize(("errors", "trials"), [(0, 0), (5, 5)])
def test_nothing_tried_or_nothing_right_bounds_nothing(errors: int, trials: int) -> None:
    assert limit_share(errors, trials) == 1.0


def test_more_errors_than_trials_are_a_mistake() -> None:
    with pytest.raises(ValueError, match="count both"):
        limit_share(3, 2)


def test_wrong_ends_bound_acceptance_and_right_ends_rejection() -> None:
    found = bound_errors(
        [(False, False)] * 59 + [(False, True)] + [(True, True)] * 8 + [(True, False)] * 2
    )
    assert (found.false_accept_n, found.false_reject_n) == (60, 10)
    assert found.false_accept == pytest.approx(limit_share(1, 60))
    assert found.false_reject == pytest.approx(limit_share(2, 10))
