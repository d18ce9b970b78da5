"""A slow answer is not asked for again: the time of a call is its own, and what may have been paid
without an answer is counted."""

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from envmill.base.errors import Outage, StepFailed, TimeOver
from envmill.lake.arrow import Stamp
from envmill.lake.coordination import FolderCoordinator
from envmill.lake.events import note
from envmill.lake.journal import seal
from envmill.lake.lake import Lake
from envmill.lake.sql import fetch
from envmill.models import sdk
from envmill.models.budget import Allowance, Amount, Budget
from envmill.models.prices import Prices
from envmill.models.terms import count_spent
from tasks.policy import is_worth_repeating
from tests.models.calling import (
    GOOD,
    PROMPT,
    Answer,
    Question,
    list_calls,
    make_provider,
    open_door,
)
from tests.models.vendors.launch import Loopback

BOTH_WAYS = pytest.mark.parametrize(
    "vendor",
    [name + way for name in ("openai", "responses", "anthropic") for way in ("", "-stream")],
)
STREAMS = pytest.mark.parametrize(
    "vendor", [f"{name}-stream" for name in ("openai", "responses", "anthropic")]
)
PRICES = """[[price]]
provider = "{}"
model = "loopback-large"
input = 1000000
output = 1000000
source = "p"
read_on = 2026-11-21
"""


async def ask(root: str, vendor: str, folder: Path, **manner: Any) -> Answer:
    async with open_door(vendor, root, folder, **manner) as door:
        return await door.open_session("environments-build", "bp_1").ask(
            PROMPT, Question(word="cat"), Answer
        )


@pytest.mark.long(cases=1)
@BOTH_WAYS
async def test_a_server_that_works_for_most_of_the_setting_is_asked_once(
    vendors: Loopback, tmp_path: Path, vendor: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Longer than a third of it, and longer than the limit for servers that need not work long."""
    monkeypatch.setattr(sdk, "_READ", 0.2)
    vendors.say(GOOD)
    vendors.fail("delay", seconds=2.4)
    assert await ask(vendors.root, vendor, tmp_path, deadline=6.0, silence=0.2) == Answer(length=3)
    (call,) = list_calls(tmp_path)
    assert (call.outcome, call.retries, call.possibly_paid, vendors.counts()["total"]) == (
        "reply",
        0,
        0,
        1,
    )


async def test_files_and_lists_of_a_server_are_not_waited_for_so_long(
    vendors: Loopback, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sdk, "_READ", 0.2)
    vendors.fail("hang", path="/v1/models")
    provider = make_provider("openai", vendors.root)
    with pytest.raises(Outage):
        await asyncio.wait_for(provider._connection.get("/models", "m"), 10.0)  # pyright: ignore[reportPrivateUsage]
    await provider.close()


@pytest.mark.long(cases=1)
@STREAMS
async def test_a_stream_that_goes_on_slowly_is_heard_to_its_end(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    """Seconds in all, and never silent for long."""
    vendors.say(GOOD)
    vendors.fail("trickle", seconds=0.02)
    began = time.monotonic()
    assert await ask(vendors.root, vendor, tmp_path, silence=1.0) == Answer(length=3)
    assert (vendors.counts()["total"], time.monotonic() - began > 0.5) == (1, True)


@STREAMS
async def test_a_stream_that_falls_silent_is_asked_again_and_both_stand_in_the_ledger(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    vendors.say("A long thought. " * 30 + GOOD)
    vendors.fail("silent", times=1)
    (tmp_path / "prices.toml").write_text(PRICES.format(vendor.partition("-")[0]))
    prices = Prices.load(tmp_path / "prices.toml")
    budget = Budget(
        FolderCoordinator(tmp_path / "budget"), "r1", Allowance(tokens=1_000_000), Amount()
    )
    assert await ask(
        vendors.root, vendor, tmp_path / "j", silence=0.3, prices=prices, budget=budget
    ) == Answer(length=3)
    (call,) = list_calls(tmp_path / "j")
    assert (call.outcome, call.retries, call.possibly_paid, vendors.counts()["total"]) == (
        "reply",
        1,
        1,
        2,
    )
    assert call.tokens_in > 0
    assert call.possibly_paid_tokens > call.characters / 4
    assert call.possibly_paid_cost == pytest.approx(call.possibly_paid_tokens)
    assert (
        budget.spent().tokens
        == call.tokens_in + call.tokens_out + call.possibly_paid_tokens
        == count_spent([call]).tokens
    )
    budget.close()


async def test_a_price_that_is_unknown_is_unknown_for_what_may_have_been_paid_too(
    vendors: Loopback, tmp_path: Path
) -> None:
    vendors.say(GOOD)
    vendors.fail("cut", times=1)
    await ask(vendors.root, "openai", tmp_path)
    (call,) = list_calls(tmp_path)
    assert (call.possibly_paid, call.possibly_paid_cost) == (1, None)


@pytest.mark.long(cases=2)
@BOTH_WAYS
async def test_a_server_that_never_answers_is_asked_once_and_may_have_been_paid(
    vendors: Loopback, tmp_path: Path, vendor: str
) -> None:
    vendors.fail("hang")
    with pytest.raises(TimeOver, match="ENVMILL_CALL_SECONDS"):
        await ask(vendors.root, vendor, tmp_path, deadline=0.6)
    (call,) = list_calls(tmp_path)
    assert (call.outcome, call.retries, call.possibly_paid) == ("outage", 0, 1)
    await _wait_until_heard(vendors)
    lake = Lake(tmp_path / "lake")
    note(lake, "r1", "started", {})
    seal(tmp_path, lake, Stamp("r1", "", "", 0, 1, "", "t"))
    counted = fetch(
        lake,
        "select unanswered, possibly_paid, possibly_paid_tokens, possibly_paid_cost from spending",
    )
    assert counted == [(1, 1, call.possibly_paid_tokens, None)]


async def _wait_until_heard(vendors: Loopback) -> None:
    """A busy server reads a request after its sender has given up."""
    for _ in range(100):
        if vendors.counts()["total"]:
            break
        await asyncio.sleep(0.1)
    await asyncio.sleep(0.5)
    assert vendors.counts()["total"] == 1


async def test_a_server_that_is_not_there_was_not_paid(tmp_path: Path) -> None:
    with pytest.raises(Outage, match="cannot be reached"):
        await ask("http://127.0.0.1:9", "openai", tmp_path)
    (call,) = list_calls(tmp_path)
    assert (
        call.retries,
        call.possibly_paid,
        call.possibly_paid_tokens,
        call.possibly_paid_cost,
    ) == (3, 0, 0, 0.0)


@pytest.mark.parametrize(
    "head",
    [
        b'data: {"choices": [{"delta": {"role": "assistant", "content": ""}}]}\n\n',
        b'event: response.created\ndata: {"type": "response.created", "response": {"output": '
        b"[]}}\n\n",
        b'event: message_start\ndata: {"type": "message_start", "message": {"content": []}}\n\n',
        b": PROCESSING\n\n",
    ],
    ids=["chat", "responses", "anthropic", "comment"],
)
async def test_a_stream_whose_first_word_comes_late_is_waited_for(head: bytes) -> None:
    """Models think after the head of their answer; silence counts from their first word."""
    with streaming(head, 0.8, b"data: {}\n\n") as url:
        client = sdk.open_client("openai", make_provider("openai", url)._connection.endpoint, 0.2)  # pyright: ignore[reportPrivateUsage]
        sent = await client.ask("/chat/completions", b"{}")
        await client.close()
    assert sent == (head + b"data: {}\n\n", "text/event-stream")


@contextmanager
def streaming(head: bytes, seconds: float, rest: bytes) -> Iterator[str]:
    """A server that streams a head, is silent, and streams the rest."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "text/event-stream")
            self.end_headers()
            self.wfile.write(head)
            self.wfile.flush()
            time.sleep(seconds)
            self.wfile.write(rest)

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("reasons", "again"),
    [
        ({"a": "timeover: x"}, False),
        ({"a": "timeover: x", "b": "outage: y"}, True),
        ({"a": "outage: y"}, True),
        ({}, True),
    ],
)
async def test_a_task_is_not_repeated_for_calls_whose_time_was_over(
    reasons: dict[str, str], again: bool
) -> None:
    class Ended:
        async def aresult(self) -> None:
            raise StepFailed("x", reasons=reasons)

    assert await is_worth_repeating(None, None, Ended()) is again  # type: ignore[arg-type]
