"""The limiter: nobody exceeds it, nobody is forgotten, and it finds its way down and up again."""

import asyncio

import pytest

from envmill.base.errors import Throttled
from envmill.models.limiter import Limiter, ModelLimits, Window


async def work(limiter: Limiter, seen: list[int]) -> None:
    passage = await limiter.enter(1, 10.0)
    seen.append(limiter.window.in_flight)
    await asyncio.sleep(0)
    limiter.leave(passage)


async def test_no_more_than_the_window_are_in_flight_and_all_get_through() -> None:
    limiter, seen = Limiter("m", ModelLimits(in_flight=3)), list[int]()
    await asyncio.gather(*(work(limiter, seen) for _ in range(50)))
    assert len(seen) == 50
    assert max(seen) == 3
    assert limiter.window.in_flight == 0


async def test_a_retry_goes_before_those_who_were_never_sent() -> None:
    limiter, order = Limiter("m", ModelLimits(in_flight=1)), list[str]()

    async def go(name: str, again: bool) -> None:
        passage = await limiter.enter(1, 10.0, again)
        order.append(name)
        limiter.leave(passage)

    first = await limiter.enter(1, 10.0)
    waiting = [asyncio.create_task(go(name, again=name == "retry")) for name in ("a", "b", "retry")]
    await asyncio.sleep(0)
    limiter.leave(first)
    await asyncio.gather(*waiting)
    assert order == ["retry", "a", "b"]


@pytest.mark.parametrize("when", ["waiting", "let-through"])
async def test_a_cancelled_caller_takes_no_place_along(when: str) -> None:
    limiter = Limiter("m", ModelLimits(in_flight=1))
    first = await limiter.enter(1, 10.0)
    second, third = (asyncio.create_task(limiter.enter(1, 10.0)) for _ in range(2))
    await asyncio.sleep(0)
    if when == "let-through":
        limiter.leave(first)  # its turn has come, and it has not run since
        second.cancel()
    else:
        second.cancel()
        await asyncio.sleep(0)
        limiter.leave(first)
    passage = await asyncio.wait_for(third, 5)
    assert limiter.window.in_flight == 1
    limiter.leave(passage)
    assert limiter.window.in_flight == 0


async def test_a_named_pause_holds_everybody_and_one_too_long_is_an_error_at_once() -> None:
    clock = [0.0]
    limiter = Limiter("openai:m", ModelLimits(), lambda: clock[0])
    passage = await limiter.enter(1, 60.0)
    limiter.throttled(passage, 20.0)
    limiter.leave(passage)
    with pytest.raises(
        Throttled,
        match=r"openai:m asked to be left alone for another 20 s, longer than a call may take \(10 "
        r"s\)",
    ):
        await limiter.enter(1, 10.0)
    held = asyncio.create_task(limiter.enter(1, 60.0))
    await asyncio.sleep(0.02)
    assert not held.done()
    held.cancel()
    clock[0] = 20.0
    limiter.leave(await limiter.enter(1, 10.0))


async def test_a_complaint_without_a_time_pauses_longer_each_time_until_somebody_is_answered() -> (
    None
):
    clock = [0.0]
    limiter, pauses = Limiter("m", ModelLimits(), lambda: clock[0]), list[float]()
    for _ in range(9):
        passage = await limiter.enter(1, 60.0)
        limiter.throttled(passage, None)
        limiter.leave(passage)
        pauses.append(limiter.pause)
        clock[0] += limiter.pause + 1
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    passage = await limiter.enter(1, 60.0)
    limiter.answered(passage, 1)
    limiter.throttled(passage, None)
    assert limiter.pause == 0.5


def test_the_window_halves_once_for_all_that_were_sent_together_and_grows_by_one_a_round() -> None:
    window = Window(64)
    window.in_flight = 64
    assert [window.shrink(0.0, 1.0), window.shrink(0.5, 1.1), window.shrink(0.9, 1.2)] == [
        True,
        False,
        False,
    ]
    assert window.size == 32
    for _ in range(32):
        window.grow()
    assert window.size == pytest.approx(33, abs=0.05)
    for _ in range(10_000):
        window.grow()
    assert window.size == 64
    for moment in range(2, 40):
        window.shrink(float(moment), moment + 0.5)
    assert window.size == 1.0


def test_a_limiter_outlives_its_event_loop() -> None:
    limiter = Limiter("m", ModelLimits(in_flight=1))

    async def leave_everything_lying() -> None:
        await limiter.enter(1, 10.0)
        asyncio.get_running_loop().create_task(limiter.enter(1, 10.0))
        await asyncio.sleep(0)

    for _ in range(3):
        asyncio.run(leave_everything_lying())
    seen = list[int]()
    asyncio.run(work(limiter, seen))
    assert seen == [1]
