"""Shares: processes that ask one model use its limits once between them, and one that is gone
leaves its part."""

import asyncio
import json
import time
from pathlib import Path

import pytest

from envmill.lake.coordination import FolderCoordinator
from envmill.models.limiter import Limiter, ModelLimits, Rate, Share, SharedLoad, Shares, is_limited
from tests.models.asker import IN_FLIGHT
from tests.models.test_model_kill import start
from tests.models.vendors.launch import Loopback


@pytest.mark.parametrize(
    ("crowd", "in_flight", "bound"),
    [
        (SharedLoad(), 0, 64),
        (SharedLoad(2, 0), 0, 32),
        (SharedLoad(2, 64), 0, 0),  # the other flies its last calls above its part
        (SharedLoad(2, 40), 0, 12),
        (SharedLoad(2, 32), 31, 32),
        (SharedLoad(2, 10), 64, 32),
        (SharedLoad(4, 30, settled=False), 0, 0),
        (SharedLoad(100, 63), 0, 1),
        (SharedLoad(100, 64), 0, 0),
    ],
)
def test_a_bound_is_a_part_of_the_whole_and_of_what_is_free(
    crowd: SharedLoad, in_flight: int, bound: int
) -> None:
    assert crowd.bound(in_flight, 64) == bound


def test_who_is_idle_or_gone_counts_no_longer_and_who_returns_waits(tmp_path: Path) -> None:
    now = [100.0]
    one, two = FolderCoordinator(tmp_path), FolderCoordinator(tmp_path)
    first, second = (Share(each, "m", lambda: now[0]) for each in (one, two))
    assert first.exchange(5) == SharedLoad(1, 0)  # the second has said nothing yet
    assert second.exchange(0) == SharedLoad(2, 5, settled=False)
    now[0] += 0.3
    assert second.exchange(3) == SharedLoad(2, 5)
    assert first.exchange(5).holders == 2
    second.publish(0)
    now[0] += 3.0
    assert first.exchange(5) == SharedLoad(1, 0)
    assert second.exchange(0) == SharedLoad(2, 5, settled=False), "the others have forgotten it"
    first.close()
    assert second.exchange(0).holders == 1
    assert list(json.loads(next(tmp_path.glob("shares/*.json")).read_text())) == [two.own]
    second.close()


@pytest.mark.parametrize(
    "limits",
    [ModelLimits(64, requests=600), ModelLimits(64, tokens=600)],
    ids=["requests", "tokens"],
)
async def test_two_of_them_are_let_through_as_often_as_one(
    tmp_path: Path, limits: ModelLimits
) -> None:
    now = [0.0]

    async def count(limiters: list[Limiter], seconds: float) -> int:
        sent, end = 0, now[0] + seconds
        while now[0] < end:
            now[0] += 0.05
            for limiter in limiters:
                limiter._poll()
                while limiter._delay(1) == 0.0 and limiter.window.open:
                    limiter.leave(await limiter.enter(1, 100.0))
                    sent += 1
        return sent

    shares = [Shares(FolderCoordinator(tmp_path), lambda: now[0]) for _ in range(2)]
    one, two = (Limiter("m", limits, lambda: now[0], share) for share in shares)
    alone = await count([one], 30)
    between = await count([one, two], 30)
    assert 300 <= alone <= 330
    assert 270 <= between <= 330
    shares[1].close()
    assert 290 <= await count([one], 30) <= 330
    shares[0].close()


async def test_who_waits_for_anothers_call_goes_when_it_has_ended(tmp_path: Path) -> None:
    shares = [Shares(FolderCoordinator(tmp_path)) for _ in range(2)]
    one, two = (Limiter("m", ModelLimits(1), shares=share) for share in shares)
    passage = await one.enter(1, 10.0)
    second = asyncio.create_task(two.enter(1, 10.0))
    await asyncio.sleep(0.5)
    assert not second.done()
    one.leave(passage)
    two.leave(await asyncio.wait_for(second, 10))
    for share in shares:
        share.close()


def test_what_a_vendor_taught_holds_in_a_share_too() -> None:
    rate = Rate(600, 0.0)
    rate.divide(2)
    assert rate.per_minute == 300
    for tick in range(100):
        rate.take(1, tick / 10)
        rate.refuse(1, tick / 10)
    rate.slow_down(10.0)
    assert rate.per_minute is not None
    learnt = rate.per_minute
    assert learnt < 300
    rate.divide(1)
    assert rate.per_minute == learnt
    for second in range(11, 300):
        rate.delay(1, float(second))
    assert rate.per_minute == 600
    without = Rate(None, 0.0)
    without.divide(3)
    assert without.per_minute is None


def test_what_nobody_outside_bears_is_not_shared() -> None:
    assert [is_limited(name) for name in ("openai", "responses", "anthropic")] == [True] * 3
    assert not any(is_limited(name) for name in ("offline", "replay", "batch-openai"))


@pytest.mark.long
def test_a_second_process_doubles_nothing_and_a_killed_one_leaves_its_share(
    vendors: Loopback, tmp_path: Path
) -> None:
    """Witnessed by the vendor: never more in flight than one process may have, and all of it again
    for the one that is left."""
    vendors.say('{"length": 3}')
    vendors.set(latency=0.03)
    with (
        start(tmp_path, vendors, range(2000)) as first,
        start(tmp_path, vendors, range(2000, 4000)) as second,
    ):
        first.wait_for(64)
        second.wait_for(64)
        while first.process.poll() is None and vendors.counts()["peak"] <= IN_FLIGHT / 2:
            time.sleep(0.05)
        assert IN_FLIGHT / 2 < vendors.counts()["peak"] <= IN_FLIGHT
        second.process.kill()
        second.end()
        vendors.reset()
        vendors.say('{"length": 3}')
        vendors.set(latency=0.2)
        while first.process.poll() is None and vendors.counts()["peak"] < IN_FLIGHT:
            time.sleep(0.05)
        assert vendors.counts()["peak"] == IN_FLIGHT
        first.process.kill()
        first.end()
    nobody = FolderCoordinator(tmp_path / "coordination")
    shares = Shares(nobody)
    assert shares.of("openai:loopback-large").exchange(0) == SharedLoad(1, 0)
    (left,) = (tmp_path / "coordination/shares").glob("*.json")
    assert list(json.loads(left.read_text())) == [nobody.own], (
        "what a killed process leaves goes with the next look"
    )
    shares.close()
    nobody.close()
