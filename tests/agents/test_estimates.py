"""Estimates against all that could have been drawn: unbiased, monotone, and intervals that cover
what they promise."""

from itertools import combinations
from math import comb

import pytest

from envmill.agents.estimates import AttemptTally, estimate_all, estimate_any, find_interval
from tests.agents.test_attempts import make_rollout

SIZES = [(passed, judged) for judged in range(1, 9) for passed in range(judged + 1)]


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_estimates_are_shares_of_all_groups_of_k(k: int) -> None:
    for passed, judged in SIZES:
        groups = list(combinations([True] * passed + [False] * (judged - passed), k))
        some, every = estimate_any(passed, judged, k), estimate_all(passed, judged, k)
        if judged < k:
            assert (some, every) == (None, None)
        else:
            assert some == pytest.approx(sum(map(any, groups)) / len(groups))
            assert every == pytest.approx(sum(map(all, groups)) / len(groups))


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.83])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_estimates_are_without_bias(k: int, rate: float) -> None:
    """Over all outcomes of nine attempts, weighed by their chance, the mean is what it
    estimates."""
    chances = [comb(9, passed) * rate**passed * (1 - rate) ** (9 - passed) for passed in range(10)]
    some = sum(
        chance * (estimate_any(passed, 9, k) or 0.0) for passed, chance in enumerate(chances)
    )
    every = sum(
        chance * (estimate_all(passed, 9, k) or 0.0) for passed, chance in enumerate(chances)
    )
    assert some == pytest.approx(1 - (1 - rate) ** k)
    assert every == pytest.approx(rate**k)


def test_an_interval_holds_its_rate_and_narrows() -> None:
    for passed, judged in SIZES:
        low, high = find_interval(passed, judged)
        assert 0 <= low <= passed / judged <= high <= 1
        wide, narrow = high - low, find_interval(passed * 10, judged * 10)
        assert narrow[1] - narrow[0] < wide
        mirrored = find_interval(judged - passed, judged)
        assert (low, high) == (pytest.approx(1 - mirrored[1]), pytest.approx(1 - mirrored[0]))
    assert find_interval(0, 0) == (0.0, 1.0)
    assert find_interval(8, 10) == pytest.approx((0.4901625, 0.9433178))
    assert find_interval(0, 4) == pytest.approx((0.0, 0.4898908))


@pytest.mark.parametrize("judged", [4, 8, 16, 64])
def test_an_interval_covers_about_as_often_as_it_says(judged: int) -> None:
    """Wilson's interval may fall short at single rates; over all of them it does not."""
    rates = [step / 200 for step in range(1, 200)]
    covered = [
        sum(
            comb(judged, passed) * rate**passed * (1 - rate) ** (judged - passed)
            for passed in range(judged + 1)
            if _holds(passed, judged, rate)
        )
        for rate in rates
    ]
    assert sum(covered) / len(covered) > 0.945
    assert min(covered) > 0.8


def _holds(passed: int, judged: int, rate: float) -> bool:
    low, high = find_interval(passed, judged)
    return low <= rate <= high


@pytest.mark.parametrize(("passed", "judged", "k"), [(3, 2, 1), (-1, 2, 1), (1, 2, 0)])
def test_what_cannot_have_been_counted_is_refused(passed: int, judged: int, k: int) -> None:
    with pytest.raises(ValueError, match="count passes among judged attempts"):
        estimate_any(passed, judged, k)


def test_errors_are_counted_apart() -> None:
    tally = AttemptTally.of(
        [
            make_rollout(number, outcome)
            for number, outcome in enumerate(["pass", "error", "fail", "pass"])
        ]
    )
    assert (tally.passed, tally.judged, tally.errors, tally.rate) == (2, 3, 1, 2 / 3)
    assert AttemptTally.of([make_rollout(0, "error")]).rate is None
