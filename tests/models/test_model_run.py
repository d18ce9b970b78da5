"""A run's calls as a whole: its budget, its key, its event loops, its crowd of calls in flight."""

import asyncio
import gc
import logging
import traceback
import warnings
from pathlib import Path

import pytest

from envmill.base.errors import BudgetReached, KeyRefused
from envmill.lake.coordination import FolderCoordinator
from envmill.lake.journal import Journal
from envmill.models.budget import Allowance, Amount, Budget
from envmill.models.gateway import Gateway
from tests.models.calling import (
    GOOD,
    KEY,
    PROMPT,
    Answer,
    Question,
    list_calls,
    make_provider,
    open_door,
)
from tests.models.test_model_kill import start
from tests.models.vendors.launch import Loopback

VENDORS = pytest.mark.parametrize("vendor", ["openai", "anthropic"])
CALL = 100
"""Tokens of one call, as the vendor counts them below."""


async def ask_all(door: Gateway, numbers: range) -> list[Answer | BaseException]:
    """All at once; what each came to."""
    asked = (
        door.open_session("s", f"w{number}").ask(PROMPT, Question(word=f"w{number}"), Answer)
        for number in numbers
    )
    return await asyncio.gather(*asked, return_exceptions=True)


def answer_all(vendors: Loopback, latency: float = 0.05) -> None:
    vendors.say(GOOD, input=CALL - 10, output=10)
    vendors.set(latency=latency)


@pytest.mark.long
@VENDORS
async def test_a_budget_reached_among_64_in_flight_finishes_those_and_can_be_resumed(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    answer_all(vendors)
    small = Budget(
        FolderCoordinator(tmp_path / "budget"), "r1", Allowance(tokens=80 * CALL), Amount()
    )
    async with open_door(vendor, vendors.root, tmp_path / "journal", budget=small) as door:
        ended = await ask_all(door, range(200))
    small.close()
    answered = [one for one in ended if isinstance(one, Answer)]
    assert {type(one) for one in ended} == {Answer, BudgetReached}
    assert 0 < len(answered) <= 80
    assert vendors.counts()["total"] == len(answered) == len(list_calls(tmp_path / "journal")), (
        "whoever was sent was heard to the end"
    )
    large = Budget(
        FolderCoordinator(tmp_path / "budget"),
        "r1",
        Allowance(tokens=400 * CALL),
        Amount(tokens=len(answered) * CALL),
    )
    assert large.spent().tokens == len(answered) * CALL
    async with open_door(vendor, vendors.root, tmp_path / "journal", budget=large) as door:
        assert await ask_all(door, range(200)) == [Answer(length=3)] * 200
    large.close()
    assert set(vendors.counts()["answered"].values()) == {1}
    assert vendors.counts()["total"] == 200


@pytest.mark.long
def test_two_processes_on_one_budget_do_not_double_it(vendors: Loopback, tmp_path: Path) -> None:
    answer_all(vendors)
    allowed = 60 * CALL
    with (
        start(tmp_path, vendors, range(200), allowed) as first,
        start(tmp_path, vendors, range(200, 400), allowed) as second,
    ):
        assert (first.end(), second.end()) == (3, 3)
    answered = len(first.returned) + len(second.returned)
    assert vendors.counts()["total"] == answered
    assert 30 * CALL < answered * CALL <= allowed


@pytest.mark.long
@VENDORS
async def test_a_key_revoked_in_the_midst_stops_the_calls_and_a_new_one_goes_on(
    vendors: Loopback, tmp_path: Path, vendor: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer_all(vendors)
    vendors.set(keys=[KEY])
    async with open_door(vendor, vendors.root, tmp_path, in_flight=8) as door:
        assert await ask_all(door, range(20)) == [Answer(length=3)] * 20
        vendors.set(keys=["sk-another-0123456789abcdef"])
        ended = await ask_all(door, range(100))
    assert ended[:20] == [Answer(length=3)] * 20, "what is known needs no key"
    assert {type(one) for one in ended[20:]} == {KeyRefused}
    assert vendors.counts()["total"] <= 20 + 8, "after the first refusal nobody else is sent"
    assert "API_KEY" in str(ended[20])
    told = caplog.text + "".join(
        "".join(traceback.format_exception(one))
        for one in ended[20:]
        if isinstance(one, BaseException)
    )
    written = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()).decode()
    assert KEY not in told + written + repr(ended)
    async with open_door(vendor, vendors.root, tmp_path, key="sk-another-0123456789abcdef") as door:
        assert await ask_all(door, range(100)) == [Answer(length=3)] * 100
    assert set(vendors.counts()["answered"].values()) == {1}


@pytest.mark.long(cases=1)
@VENDORS
@pytest.mark.parametrize("key", ["", "sk-wrong-0123456789abcdef"])
async def test_a_missing_or_wrong_key_costs_one_round_of_calls(
    vendors: Loopback, tmp_path: Path, vendor: str, key: str
) -> None:
    vendors.set(keys=[KEY], latency=0.05)
    async with open_door(vendor, vendors.root, tmp_path, key=key, in_flight=4) as door:
        ended = await ask_all(door, range(40))
    assert {type(one) for one in ended} == {KeyRefused}
    assert vendors.counts()["total"] <= 4
    assert not key or key not in repr(ended)


@pytest.mark.long(cases=1)
@VENDORS
def test_a_loop_closed_and_reopened_sends_every_call_once(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    """Connections of a closed loop are dead: used again, a request is served, its reply lost, and
    it is sent twice."""
    answer_all(vendors)
    provider, journal = make_provider(vendor, vendors.root), Journal(tmp_path)
    door = Gateway(provider, journal, {}, 1)

    async def close() -> None:
        await provider.close()
        await journal.close()

    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", ResourceWarning
        )  # sockets of a loop that was closed over them can only be collected
        for round_ in range(3):
            numbers = range(round_ * 32, round_ * 32 + 32)
            assert asyncio.run(ask_all(door, numbers)) == [Answer(length=3)] * 32
        asyncio.run(close())
        gc.collect()
    assert vendors.counts()["total"] == 96
    assert sum(call.retries for call in list_calls(tmp_path)) == 0


@pytest.mark.long(cases=1)
@VENDORS
@pytest.mark.parametrize("crowd", [24, 80])
async def test_a_crowd_keeps_to_its_bound_and_to_its_connections(
    vendors: Loopback, tmp_path: Path, vendor: str, crowd: int
) -> None:
    """Eighty calls are more than one pool of connections carries. The server takes its time, so
    that a busy machine gets them all off."""
    answer_all(vendors, 1.0)
    async with open_door(vendor, vendors.root, tmp_path, in_flight=crowd) as door:
        assert await ask_all(door, range(3 * crowd)) == [Answer(length=3)] * (3 * crowd)
    counts = vendors.counts()
    assert counts["peak"] == crowd
    assert counts["connections"] <= crowd + 10  # the control ones, a few of them each test
