"""A minute's worth, on a clock of the test's own."""

import random

import pytest

from envmill.models.limiter import Rate


def send_all(rate: Rate, seconds: float, amount: float = 1.0) -> list[float]:
    """Moments at which somebody who always has more to send was let go."""
    now, sent = 0.0, list[float]()
    while (
        now < seconds and len(sent) < 10_000
    ):  # a rate that holds nobody back would be asked for ever
        if delay := rate.delay(amount, now):
            now += delay + 1e-6
        else:
            rate.take(amount, now)
            sent.append(now)
    return sent


@pytest.mark.parametrize(
    ("per_minute", "amount"), [(60, 1), (600, 1), (30_000, 500), (6_000, 3_000)]
)
def test_no_minute_holds_more_than_its_worth_and_two_seconds(
    per_minute: float, amount: float
) -> None:
    sent = send_all(Rate(per_minute, 0.0), 240, amount)
    for start in sent:
        within = sum(amount for moment in sent if start <= moment < start + 60)
        assert within <= per_minute * 62 / 60 + amount
    assert len(sent) * amount >= per_minute * 4 * 0.95


def test_an_amount_larger_than_the_bucket_goes_once_it_is_full_and_is_paid_back() -> None:
    rate = Rate(60, 0.0)
    assert rate.delay(10, 0.0) == 0.0
    rate.take(10, 0.0)
    assert rate.delay(1, 0.0) == pytest.approx(9.0)


def test_what_was_foreseen_is_corrected() -> None:
    rate = Rate(60, 0.0)
    rate.take(2, 0.0)
    rate.correct(5)
    assert rate.delay(1, 0.0) == pytest.approx(6.0)
    rate.correct(-100)
    assert rate.delay(2, 0.0) == 0.0


def test_a_rate_nobody_set_is_learnt_from_complaints_and_forgotten_again() -> None:
    rate, dice = Rate(None, 0.0), random.Random(1)
    for tick in range(100):
        rate.take(1, tick / 10)
        if dice.random() < 0.5:
            rate.refuse(1, tick / 10)
    rate.slow_down(10.0)
    assert rate.per_minute is not None
    assert 200 < rate.per_minute < 400  # of 600 sent a minute, half were served
    learnt = rate.per_minute
    rate.delay(1, 24.0)
    assert rate.per_minute == pytest.approx(learnt * 1.05**14, rel=0.01)
    for second in range(25, 120):
        rate.delay(1, float(second))
    assert rate.per_minute is None


def test_a_set_rate_recovers_to_what_was_set_and_no_further() -> None:
    rate = Rate(600, 0.0)
    for tick in range(100):
        rate.take(1, tick / 10)
        rate.refuse(1, tick / 10)
    rate.slow_down(10.0)
    assert rate.per_minute is not None
    assert rate.per_minute < 400
    for second in range(11, 300):
        rate.delay(1, float(second))
    assert rate.per_minute == 600


def test_a_clock_that_runs_backwards_gives_nothing_away() -> None:
    rate = Rate(60, 100.0)
    rate.take(2, 100.0)
    assert rate.delay(1, 50.0) == pytest.approx(1.0)
    assert rate.delay(1, 100.0) == pytest.approx(1.0)
