"""When a rate is believed: complaints by chance leave it alone, a real bound is found and kept to,
and it is never starved."""

from envmill.models.limiter import Rate


def send(rate: Rate, seconds: int, each: int, refused: int) -> None:
    """So many a second, so many of them refused; every complaint is told."""
    for second in range(seconds):
        for _ in range(each):
            rate.take(1, float(second))
        for _ in range(refused):
            rate.refuse(1, float(second) + 0.5)
            rate.slow_down(float(second) + 0.5)


def test_one_refused_request_is_no_rate() -> None:
    rate = Rate(None, 0.0)
    send(rate, seconds=1, each=1, refused=1)
    assert rate.per_minute is None


def test_a_refusal_now_and_then_is_chance() -> None:
    rate = Rate(None, 0.0)
    send(rate, seconds=60, each=50, refused=2)
    assert rate.per_minute is None


def test_a_bound_is_found_near_what_is_served() -> None:
    rate = Rate(None, 0.0)
    send(rate, seconds=1, each=100, refused=40)
    assert rate.per_minute is not None
    assert 50 * 60 < rate.per_minute < 100 * 60


def test_a_server_that_refuses_everything_for_a_while_is_not_given_up() -> None:
    rate = Rate(None, 0.0)
    send(rate, seconds=4, each=100, refused=100)
    assert rate.per_minute is not None
    assert rate.per_minute > 10 * 60
