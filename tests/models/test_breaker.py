"""The breaker: a long silence makes calls fail at once, a moment's does not, and one call finds out
when it is over."""

import pytest

from envmill.base.errors import Outage
from envmill.models.caller import Breaker


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def silence(breaker: Breaker, clock: Clock, sendings: int = 24, seconds: float = 6.0) -> None:
    for _ in range(sendings):
        breaker.failed("connection refused.", breaker.check())
        clock.now += seconds / (sendings - 1)


def test_a_long_silence_is_told_and_one_call_tries_again() -> None:
    clock = Clock()
    breaker = Breaker("openai:m", clock)
    silence(breaker, clock)
    with pytest.raises(
        Outage,
        match=r"openai:m answered none of the last 24 requests.*connection refused\. One call "
        r"tries again in 1\d s",
    ):
        breaker.check()
    clock.now += 15
    assert breaker.check()
    with pytest.raises(Outage, match="One call is trying"):
        breaker.check()
    breaker.answered()
    assert not breaker.open
    assert not breaker.check()


def test_each_try_in_vain_doubles_the_rest_up_to_a_bound() -> None:
    clock, rests = Clock(), list[int]()
    breaker = Breaker("m", clock)
    silence(breaker, clock)
    clock.now += 15
    for _ in range(6):
        began = clock.now
        breaker.failed("still down.", breaker.check())
        while breaker.open:
            clock.now += 1
            try:
                tried = breaker.check()
            except Outage:
                continue
            breaker.let_go(tried)
            break
        rests.append(round(clock.now - began))
    assert rests == [30, 60, 120, 240, 240, 240]


def test_a_hiccup_of_everything_in_flight_is_no_silence() -> None:
    clock = Clock()
    breaker = Breaker("m", clock)
    silence(breaker, clock, sendings=200, seconds=1.0)
    assert not breaker.open


def test_an_answer_in_between_starts_the_count_anew() -> None:
    clock = Clock()
    breaker = Breaker("m", clock)
    for _ in range(10):
        silence(breaker, clock, sendings=20, seconds=10.0)
        breaker.answered()
    assert not breaker.open


def test_a_try_that_was_called_off_leaves_the_next_to_try() -> None:
    clock = Clock()
    breaker = Breaker("m", clock)
    silence(breaker, clock)
    clock.now += 15
    breaker.let_go(breaker.check())
    assert breaker.check()
